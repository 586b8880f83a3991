import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from acer_tf.system.children import note, start_module

ROOT = Path(__file__).parents[2]
PARENT = """
import sys, time
from pathlib import Path
from acer_tf.system.children import start_module

child = start_module(("timeit", "-n1", "-r1", Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
print(child.pid, flush=True)
time.sleep(60)
"""
CHILD = """
import signal, time
signal.signal(signal.SIGHUP, lambda number, frame: (print("saved", flush=True), __import__("os")._exit(3)))
print("ready", flush=True)
time.sleep(60)
"""
HANGING = """
import ctypes, sys
from multiprocessing import get_context
from acer_tf.system.children import START_METHOD, become_worker, program_hidden

def hang():
    become_worker()
    print(__import__("os").getpid(), flush=True)
    while True:  # a signal that is handled ends a sleep
        ctypes.PyDLL(None).sleep(60)  # holds the interpreter's lock

if __name__ == "__main__":
    process = get_context(START_METHOD).Process(target=hang)
    process.start()
    process.join()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other kernel signals the end of a parent")


def parent(program: Path, code: str, *args: object) -> subprocess.Popen[str]:
    program.write_text(code)
    words = [sys.executable, str(program), *map(str, args)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})


def wait_for(is_so: object) -> None:
    deadline = time.monotonic() + 30
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_program_is_told_when_its_parent_was_killed(tmp_path: Path) -> None:
    code, log = tmp_path / "child.py", tmp_path / "child.log"
    code.write_text(CHILD)
    process = parent(tmp_path / "parent.py", PARENT, code, log)
    pid = int(process.stdout.readline())
    wait_for(lambda: "ready" in log.read_text())
    process.kill()
    process.communicate()
    wait_for(lambda: is_gone(pid))
    assert log.read_text() == "ready\nsaved\n"


def test_a_worker_ends_with_its_parent_even_while_it_hangs(tmp_path: Path) -> None:
    process = parent(tmp_path / "parent.py", HANGING)
    pid = int(process.stdout.readline())
    for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(pid, signum)
    time.sleep(0.2)
    assert not is_gone(pid), "signals that all processes get are the parent's"
    process.kill()
    process.communicate()
    wait_for(lambda: is_gone(pid))


def test_a_log_that_is_a_link_is_neither_written_nor_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "log").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="log"):
        start_module(("timeit", "-n1", "-r1", "0"), tmp_path / "log")
    note(tmp_path / "log", "ended")
    assert (tmp_path / "target").read_text() == "precious"
    note(tmp_path / "own", "ended")
    assert (tmp_path / "own").read_text() == "\nended\n"


def test_a_program_that_cannot_start_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            start_module(("timeit",), tmp_path / "log", tmp_path / "none")
    child = start_module(("timeit", "-n1", "-r1", "0"), tmp_path / "log")
    assert child.wait() == 0
    del child
    assert len(os.listdir("/proc/self/fd")) == before
