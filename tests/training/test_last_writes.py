import contextlib
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.storage.durable import replacing
from acer_tf.training import last_writes
from acer_tf.training.last_writes import write_at_last
from acer_tf.training.signals import stop_on_signals

SIZE = 100_000
"""Of the file that is written; what captures the output has room for less, but for enough."""


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_writes, "RETRY_SECONDS", 0.05)


@contextlib.contextmanager
def full_disk() -> Iterator[Callable[[], None]]:
    """No file may be as large as `SIZE`; yields what makes room."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def make_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE - 1, before[1]))
    try:
        yield make_room
    finally:
        make_room()


def write(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"1" * SIZE)


def test_it_is_tried_again_until_there_is_room(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, moves = tmp_path / "model.zip", []
    with full_disk() as make_room:

        def heartbeat() -> None:
            moves.append(1)
            if len(moves) == 3:
                make_room()

        write_at_last(lambda: write(path), path, lambda: False, heartbeat)
    assert path.read_bytes() == b"1" * SIZE
    error = capfd.readouterr().err
    assert error.count(f"{path} cannot be written (File too large); make room: what was learned is kept") >= 3


def test_a_signal_ends_the_wait_with_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with full_disk(), stop_on_signals() as stop:
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(InputError, match=r"model\.zip cannot be written \(File too large\); make room and resume"):
            write_at_last(lambda: write(path), path, stop, lambda: None)
    assert list(tmp_path.iterdir()) == []


def test_after_a_signal_there_is_one_try(tmp_path: Path) -> None:
    calls = []
    path = tmp_path / "model.zip"
    with full_disk(), pytest.raises(InputError, match="make room and resume"):
        write_at_last(lambda: [calls.append(1), write(path)], path, lambda: True, lambda: None)
    assert calls == [1]
    write_at_last(lambda: write(path), path, lambda: True, lambda: None)
    assert path.exists()
