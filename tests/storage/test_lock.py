import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from acer_tf.errors import InputError, LockedError, SupersededError
from acer_tf.storage.lock import locked

HOLD = """
import sys, time, pathlib
from acer_tf.storage.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
SECONDS = 2.0
HOLD_ON_ANOTHER_HOST = f"""
import socket, sys, time, pathlib
socket.gethostname = lambda: "elsewhere"
from acer_tf.errors import SupersededError
from acer_tf.storage.lock import locked
folder = pathlib.Path(sys.argv[1])
with locked(folder, {SECONDS}) as lease:
    (folder / ".lock").unlink()  # a file system whose locks do not reach other hosts
    print("held", flush=True)
    try:
        while True:
            time.sleep(0.1)
            lease.check()
    except SupersededError as error:
        print(error, flush=True)
"""


@contextlib.contextmanager
def holder(program: str, folder: Path) -> Iterator[Popen[str]]:
    with Popen([sys.executable, "-c", program, str(folder)], stdout=PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_link_in_the_place_of_a_lock_is_refused_and_its_target_is_left(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    for name in (".lock", ".lease"):
        (tmp_path / name).symlink_to(tmp_path / "target")
        message = r"\.lease is a link|Too many levels of symbolic links"
        with pytest.raises(InputError, match=message), locked(tmp_path, lease_seconds=0.5):
            pass
        assert (tmp_path / "target").read_text() == "precious"
        (tmp_path / name).unlink()


def test_another_process_is_named_and_its_death_frees_the_folder(tmp_path: Path) -> None:
    with holder(HOLD, tmp_path) as other:
        with pytest.raises(LockedError, match=f"is locked by process {other.pid} on .*, which is using it"):
            with locked(tmp_path):
                pass
        other.send_signal(signal.SIGKILL)
    with locked(tmp_path):
        pass


def test_a_lock_is_released_at_the_end_and_after_an_error(tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(KeyError):
            with locked(tmp_path):
                raise KeyError
    assert not multiprocessing.active_children()


def test_a_folder_that_cannot_be_written_is_an_input_error_and_leaves_no_lock(tmp_path: Path) -> None:
    (tmp_path / ".lease").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        with locked(tmp_path):
            pass
    (tmp_path / ".lease").rmdir()
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("clock", [-86400, 86400])
def test_a_host_that_renews_its_lease_is_named_whatever_its_clock_says(tmp_path: Path, clock: float) -> None:
    with holder(HOLD_ON_ANOTHER_HOST, tmp_path) as other:
        os.utime(tmp_path / ".lease", (time.time() + clock, time.time() + clock))
        begun = time.monotonic()
        with pytest.raises(LockedError, match=f"is locked by process {other.pid} on elsewhere"):
            with locked(tmp_path, SECONDS):
                pass
        assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize("clock", [-86400, 86400])
def test_a_host_without_a_sign_of_life_loses_its_lease_and_stops(tmp_path: Path, clock: float) -> None:
    with holder(HOLD_ON_ANOTHER_HOST, tmp_path) as other:
        other.send_signal(signal.SIGSTOP)
        os.utime(tmp_path / ".lease", (time.time() + clock, time.time() + clock))
        begun = time.monotonic()
        with locked(tmp_path, SECONDS) as lease:
            assert time.monotonic() - begun > SECONDS
            other.send_signal(signal.SIGCONT)
            assert other.stdout.readline().startswith(f"process {os.getpid()} on ")
            assert other.wait() == 0
            lease.check()  # what the other left behind is not taken away
        assert not (tmp_path / ".lease").exists()


@pytest.mark.parametrize("content", [b"", bytes(100), b"garbage"], ids=["empty", "zeros", "garbage"])
def test_a_lease_that_a_crash_left_unwritten_is_taken_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".lease").write_bytes(content)
    began = time.monotonic()
    with locked(tmp_path, lease_seconds=1.0):
        assert (tmp_path / ".lease").read_bytes() not in (b"", content)
    assert time.monotonic() - began < 20


def test_a_host_that_has_taken_the_lease_over_and_ended_leaves_its_token(tmp_path: Path) -> None:
    """As a suspended process finds the folder again: no lease, but the token of who held it last."""
    with locked(tmp_path, SECONDS) as lease:
        (tmp_path / ".lease").unlink()
        lease.check()  # deleted by hand, or together with the folder
        (tmp_path / ".lock").unlink()
        with locked(tmp_path, SECONDS):
            with pytest.raises(SupersededError, match=f"process {os.getpid()} on .* has taken {tmp_path} over"):
                lease.check()
        assert not (tmp_path / ".lease").exists()
        with pytest.raises(SupersededError, match=f"another process has taken {tmp_path} over"):
            lease.check()
