import os
import signal
import subprocess
import sys
import time

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

with watchdog(0.4) as heartbeat:
    for _ in range(8):
        heartbeat()
        time.sleep(0.1)
    print("alive", flush=True)
    stuck_here()
"""
SLOW = """
import time
from acer_tf.training.watchdog import watchdog

with watchdog(1.0) as heartbeat:
    print("begun", flush=True)
    for _ in range(10):
        time.sleep(0.1)
        heartbeat()
"""


@pytest.mark.parametrize("hang", [BUSY, IN_C])
def test_a_stuck_process_shows_its_stacks_and_ends(hang: str) -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK.format(hang=hang)], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (-signal.SIGALRM, "alive\n")
    assert "Current thread" in ended.stderr and "in stuck_here" in ended.stderr


def test_a_thread_does_it_where_there_are_no_signals() -> None:
    """As on Windows."""
    program = "import sys\nsys.platform = 'win32'\n" + STUCK.format(hang=BUSY)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "alive\n")
    assert "Timeout" in ended.stderr and "in stuck_here" in ended.stderr


def test_it_ends_where_nothing_can_be_printed() -> None:
    words = [sys.executable, "-c", STUCK.format(hang=IN_C)]
    with open("/dev/full", "w") as full:
        assert subprocess.run(words, stdout=subprocess.DEVNULL, stderr=full).returncode == -signal.SIGALRM
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        process.stderr.close()
    assert process.returncode == -signal.SIGALRM


def test_it_ends_under_a_parent_that_ignores_the_signal() -> None:
    words = [sys.executable, "-c", STUCK.format(hang=BUSY)]
    ended = subprocess.run(words, capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN))
    assert ended.returncode == -signal.SIGALRM


@pytest.mark.parametrize(("suspension", "status"), [(signal.SIGTSTP, 0), (signal.SIGSTOP, -signal.SIGALRM)])
def test_time_after_ctrl_z_does_not_count_but_time_after_sigstop_does(suspension: int, status: int) -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(suspension)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
    assert process.returncode == status


def test_a_signal_shows_the_stacks_and_training_goes_on() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGUSR2)
        assert "most recent call first" in process.stderr.read()
    assert process.returncode == 0


def test_timer_handlers_and_descriptors_are_as_before() -> None:
    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(signum) for signum in (signal.SIGALRM, signal.SIGTSTP)]
        return handlers, len(os.listdir("/proc/self/fd")), signal.getitimer(signal.ITIMER_REAL)[0] > 0

    before = state()
    with watchdog(1e300):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 1e8
    with pytest.raises(KeyError), watchdog(60) as heartbeat:
        for _ in range(1000):
            heartbeat()
        assert 50 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        raise KeyError
    assert state() == before
