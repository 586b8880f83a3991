"""The faults of the campaign, all of them real."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from acer_tf.errors import ExitStatus
from acer_tf.storage.checkpoint import checkpoint_folders
from acer_tf.storage.run_files import ARRAYS, CHECKPOINTS, MANIFEST, REPLAY, VALUES
from benchmarks.faults.interposed import Disk
from benchmarks.faults.process import StuckError, Training
from benchmarks.faults.scratch import Scratch

KILLED = -signal.SIGKILL
MOVED = "folder moved"


class Clock:
    """The wall clock of the training processes, for this campaign Python's `time.time`.

    Attributes:
        environment: variables that make a process read this clock.
    """

    def __init__(self, folder: Path, more: str = "") -> None:
        """Writes a module to an existing folder, which Python imports when it starts and which executes `more`."""
        self._file = folder / "seconds"
        self.jump(0)
        (folder / "sitecustomize.py").write_text(_SHIFTED_CLOCK.format(file=str(self._file)) + more, encoding="utf-8")
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        self.environment = {"PYTHONPATH": path}

    def jump(self, seconds: int) -> None:
        """Sets the difference from the true time."""
        replace(self._file, f"{seconds}")


_SHIFTED_CLOCK = """
import time

true_time = time.time


def shifted_time():
    with open({file!r}) as file:
        return true_time() + int(file.read())


time.time = shifted_time
"""


def replace(file: Path, text: str) -> None:
    """Replaces a file in one step, so that no process reads half of it."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


class Around(NamedTuple):
    """The surroundings of a training process.

    Attributes:
        scratch: the file system of its run folder.
        clock: its wall clock.
        disk: its disk.
        draw: random stream of all choices.
    """

    scratch: Scratch
    clock: Clock
    disk: Disk
    draw: random.Random


Act = Callable[[Training, Around], None]
REFUSED = ("/tb/", "progress.csv", "episodes.csv", "best.zip", "/checkpoints/replay", "state.json", "config.yml")
"""Parts of paths that a fault of a single file refuses."""


def _signal(signum: int) -> Act:
    return lambda training, around: training.send(signum)


def _stop_and_continue(training: Training, around: Around) -> None:
    training.send(signal.SIGSTOP)
    time.sleep(around.draw.uniform(0.1, 5))
    training.send(signal.SIGCONT)
    _go_on(training, around)


def _in_trouble(training: Training, around: Around, trouble: AbstractContextManager[None]) -> None:
    with trouble:
        _go_on(training, around, may_kill=around.draw.random() < 0.5)
    if training.process.poll() is None:
        _go_on(training, around)


def _fill_disk(training: Training, around: Around) -> None:
    _in_trouble(training, around, around.scratch.full())


def _refuse_a_file(training: Training, around: Around) -> None:
    _in_trouble(training, around, around.disk.refusing(around.draw.choice(REFUSED)))


def _jump(training: Training, around: Around) -> None:
    around.clock.jump(around.draw.choice([-1, 1]) * around.draw.choice([3600, 86_400, 400 * 86_400]))
    _go_on(training, around)


def _move_away(training: Training, around: Around) -> None:
    with contextlib.suppress(FileNotFoundError):
        training.folder.rename(training.folder.with_name("moved"))
    _go_on(training, around)


def _second_process(training: Training, around: Around) -> None:
    """Starts the same command once more.

    Raises:
        StuckError: both train in the folder.
    """
    first = training.process.poll() is None
    status = training.again()
    if first and training.process.poll() is None and status != ExitStatus.LOCKED:
        raise StuckError(f"a second process in the folder ended with {status}")
    _go_on(training, around)


def _go_on(training: Training, around: Around, may_kill: bool = True) -> None:
    """Lets it train for a while, then often kills it, so that a campaign does not consist of complete runs."""
    training.wait_until(lambda: False, around.draw.uniform(0, 8))
    if may_kill and around.draw.random() < 0.8:
        training.send(signal.SIGKILL)


RUNNING: Mapping[str, tuple[Act, frozenset[int]]] = {
    "kill": (_signal(signal.SIGKILL), frozenset({KILLED})),
    "terminate": (_signal(signal.SIGTERM), frozenset({ExitStatus.TERMINATED, -signal.SIGTERM})),
    "interrupt": (_signal(signal.SIGINT), frozenset({ExitStatus.INTERRUPTED, -signal.SIGINT})),
    "hang up": (_signal(signal.SIGHUP), frozenset({ExitStatus.HUNG_UP, -signal.SIGHUP})),
    "stop, continue": (_stop_and_continue, frozenset({KILLED})),
    "disk full": (_fill_disk, frozenset({KILLED, ExitStatus.BAD_INPUT})),
    "clock jump": (_jump, frozenset({KILLED})),
    "file refused": (_refuse_a_file, frozenset({KILLED, ExitStatus.BAD_INPUT})),
    MOVED: (_move_away, frozenset({KILLED})),
    "second process": (_second_process, frozenset({KILLED})),
}
"""Faults of a running process, with the exit statuses that they may cause besides 0.

Before a program has installed its handlers, a signal ends it like any other program.
"""


def flip(file: Path, draw: random.Random) -> None:
    """Flips one bit."""
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def cut(file: Path, draw: random.Random) -> None:
    """Truncates the file."""
    os.truncate(file, draw.randrange(file.stat().st_size))


DAMAGES: Mapping[str, Callable[[Path, random.Random], None]] = {"bit flip": flip, "cut": cut}
"""Faults of a file between two lives of a run, besides `EIO`."""
EIO = "EIO"


def victims(folder: Path) -> list[Path]:
    """Returns the files that a fault may damage: those of the newest checkpoint, and those of replay."""
    newest = checkpoint_folders(folder / CHECKPOINTS)[0]
    replay = sorted((folder / CHECKPOINTS / REPLAY).glob("*.npz"))
    return [newest / ARRAYS, newest / VALUES, newest / MANIFEST, *replay]


def add_strays(folder: Path) -> None:
    """Adds files that other programs might leave among a run's checkpoints."""
    checkpoints = folder / CHECKPOINTS
    for stray in (checkpoints / REPLAY / ".ipynb_checkpoints", checkpoints / "step-copy"):
        stray.mkdir(parents=True, exist_ok=True)
    (checkpoints / "notes.txt").write_text("mine", encoding="utf-8")


STREAMS = ("unread output", "closed output", "full output", "closed errors", "full errors", "all closed", "all full")


def open_streams(name: str) -> tuple[int | None, int | None]:
    """Returns descriptors for standard output and error, or None for a stream to leave unchanged."""
    which, _, is_of = name.partition(" ")
    out, error = (which, None) if is_of == "output" else (None, which) if is_of == "errors" else (is_of, is_of)
    return _open(out), _open(error)


def _open(kind: str | None) -> int | None:
    if kind is None:
        return None
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY)
    reader, writer = os.pipe()
    if kind == "unread":  # a full pipe, whose reader lives as long as this process
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(writer, bytes(4096)):
                pass
        os.set_blocking(writer, True)
    else:
        os.close(reader)
    return writer
