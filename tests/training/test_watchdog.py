import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acer_tf.training.watchdog import watchdog

BUSY = "time.sleep(60)"
IN_C = "ctypes.PyDLL(None).sleep(60)"  # holds the interpreter's lock
STUCK = """
import ctypes, time
from acer_tf.training.watchdog import watchdog

def stuck_here():
    while True:
        {hang}

with watchdog(0.4) as moved:
    for _ in range(8):
        moved()
        time.sleep(0.1)
    print("moved", flush=True)
    stuck_here()
"""
SLOW = """
import time
from acer_tf.training.watchdog import watchdog

with watchdog(1.0) as moved:
    print("begun", flush=True)
    for _ in range(10):
        time.sleep(0.1)
        moved()
"""


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("hang", [BUSY, IN_C])
def test_a_stuck_process_shows_its_stacks_and_ends(hang: str) -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK.format(hang=hang)], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (75, "moved\n")
    assert "in stuck_here" in ended.stderr
    assert ended.stderr.endswith("error: nothing has moved for 0.4 s; above are the stacks of all threads\n")


def test_it_ends_where_nothing_can_be_printed() -> None:
    words = [sys.executable, "-c", STUCK.format(hang=IN_C)]
    with open("/dev/full", "w") as full:
        assert subprocess.run(words, stdout=subprocess.DEVNULL, stderr=full).returncode == 75
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        process.stderr.close()
    assert process.returncode == 75


def test_a_stopped_process_has_not_waited() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.0)
        process.send_signal(signal.SIGCONT)
    assert process.returncode == 0


def test_the_supervisor_ends_with_a_process_that_is_killed_and_its_own_end_ends_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        os.kill(children(process.pid)[0], signal.SIGKILL)
    assert process.returncode == 0
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        (supervisor,) = children(process.pid)
        process.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{supervisor}").exists() and Path(f"/proc/{supervisor}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_process_and_no_descriptor_is_left() -> None:
    with watchdog(60):
        pass  # makes what the process keeps
    before = children(os.getpid()), len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(KeyError), watchdog(60) as moved:
            assert len(children(os.getpid())) == len(before[0]) + 1
            for _ in range(70_000):  # more than the pipe holds
                moved()
            raise KeyError
    assert (children(os.getpid()), len(os.listdir("/proc/self/fd"))) == before
