import multiprocessing
import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from acer_tf.errors import InputError
from acer_tf.storage.lock import locked

HOLD = """
import sys, time, pathlib
from acer_tf.storage.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_another_process_is_named_and_its_death_frees_the_folder(tmp_path: Path) -> None:
    with Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"is locked by process {holder.pid}, which trains in it"):
            with locked(tmp_path):
                pass
        holder.send_signal(signal.SIGKILL)
    with locked(tmp_path):
        assert (tmp_path / ".pid").read_text() == str(os.getpid())


def test_a_lock_is_released_at_the_end_and_after_an_error(tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(KeyError):
            with locked(tmp_path):
                raise KeyError
    assert not multiprocessing.active_children()


def test_a_pid_that_cannot_be_written_is_an_input_error_and_leaves_no_lock(tmp_path: Path) -> None:
    (tmp_path / ".pid").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        with locked(tmp_path):
            pass
    (tmp_path / ".pid").rmdir()
    with locked(tmp_path):
        pass
