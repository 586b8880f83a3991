import signal
import subprocess
import sys
import threading
import time

import pytest

from acer_tf.commands.watchdog import watchdog

STUCK = """
import time
from acer_tf.commands.watchdog import watchdog

def stuck_here():
    time.sleep(60)

with watchdog(0.4) as moved:
    for _ in range(8):
        moved()
        time.sleep(0.1)
    print("moved", flush=True)
    stuck_here()
"""
SLOW = """
import time
from acer_tf.commands.watchdog import watchdog

with watchdog(1.0) as moved:
    print("begun", flush=True)
    for _ in range(10):
        time.sleep(0.1)
        moved()
"""


def test_a_stuck_process_shows_its_stacks_and_ends() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (75, "moved\n")
    assert "nothing has moved for 0.4 s" in ended.stderr
    assert "in stuck_here" in ended.stderr
    assert "in watch" in ended.stderr


def test_a_stopped_process_has_not_waited() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.0)
        process.send_signal(signal.SIGCONT)
    assert process.returncode == 0


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    for _ in range(20):
        with pytest.raises(KeyError), watchdog(60):
            assert threading.active_count() == before + 1
            raise KeyError
    assert threading.active_count() == before
