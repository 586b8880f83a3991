"""The replay memory on disk: each row is written once, to a file shared by all checkpoints that need it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.storage.arrays import load_arrays
from acer_tf.storage.durable import Fingerprint, check_whole, creating, fingerprint, publish, unfinished
from acer_tf.storage.run_files import REPLAY, REPLAY_FILE, UNFINISHED_REPLAY
from acer_tf.system.console import say

LARGEST_FILE = 2**27
"""Approximate bytes of rows per file; a file has at least one row."""


class ReplayFile(NamedTuple):
    """A file of consecutive rows.

    Attributes:
        name: name in the folder `replay`, with the first digits of its sha256, so that no two contents share a name.
        start: index of its first row, counted from the first row ever appended.
        stop: index after its last row.
        bytes: size of the file.
        sha256: SHA-256 of its contents, in hexadecimal digits.
    """

    name: str
    start: int
    stop: int
    bytes: int
    sha256: str


class Rows(Protocol):
    """A memory of rows, such as segments of replay, that overwrites the oldest rows when it is full."""

    @property
    def num_put(self) -> int:
        """Number of rows ever appended, which is the index of the next one."""

    @property
    def oldest(self) -> int:
        """Index of the oldest row still there."""

    def rows(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Returns rows `start` to `stop` - 1 as arrays, whose first dimension counts rows."""

    def load_rows(self, start: int, stop: int, rows: dict[str, NDArray[Any]]) -> None:
        """Restores rows `start` to `stop` - 1 from what `rows` returned."""


def write_new_rows(folder: Path, memory: Rows, written: Iterable[ReplayFile]) -> list[ReplayFile]:
    """Writes the rows that no file holds yet.

    Args:
        folder: folder of the checkpoints.
        memory: the memory to save.
        written: files written before, oldest first; if one is missing, all rows are written again.

    Returns:
        The files that hold all rows of the memory, oldest first.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    files = [file for file in written if file.stop > memory.oldest]  # the memory has overwritten the others
    if not all(_is_there(folder, file) for file in files):
        say(f"{folder / REPLAY} lacks files of replay; all of it is written again.", is_error=True)
        files = []
    start = files[-1].stop if files else memory.oldest
    (folder / REPLAY).mkdir(parents=True, exist_ok=True)
    for first, stop in _pieces(memory, start):
        files.append(_write(folder / REPLAY, memory.rows(first, stop), first, stop))
    return files


def _pieces(memory: Rows, start: int) -> Iterator[tuple[int, int]]:
    if start == memory.num_put:
        return
    # Small files, so that damage to one costs few rows, and little is copied into memory at a time.
    row_bytes = sum(array.nbytes for array in memory.rows(start, start + 1).values())
    step = max(1, LARGEST_FILE // row_bytes)
    for first in range(start, memory.num_put, step):
        yield first, min(first + step, memory.num_put)


def _write(folder: Path, rows: dict[str, NDArray[Any]], start: int, stop: int) -> ReplayFile:
    temporary = unfinished(folder / "rows")
    try:
        with creating(temporary) as file:
            np.savez(file, **rows)  # type: ignore[arg-type]
        size, digest = fingerprint(temporary)
        name = f"{start:012d}-{stop:012d}-{digest[:16]}.npz"
        publish(temporary, folder / name)
    except BaseException:
        temporary.unlink(missing_ok=True)  # a full disk needs the room
        raise
    return ReplayFile(name, start, stop, size, digest)


def _is_there(folder: Path, file: ReplayFile) -> bool:
    """Whether a written file is still there; checks its size, not its contents."""
    try:
        return (folder / REPLAY / file.name).stat().st_size == file.bytes
    except OSError:
        return False


def check_name(file: ReplayFile) -> None:
    """Checks that a file's name matches its rows and its sha256, so that it cannot point elsewhere.

    Raises:
        ValueError: it does not.
    """
    if file.name != f"{file.start:012d}-{file.stop:012d}-{file.sha256[:16]}.npz" or not re.fullmatch(
        REPLAY_FILE, file.name
    ):
        raise ValueError(f"{file.name!r} is not the name of a replay file")


def read_rows(folder: Path, files: Sequence[ReplayFile], memory: Rows) -> list[InputError]:
    """Restores the rows of all intact files to an empty memory.

    Rows keep their numbers. If a file is damaged, its rows are left out and the others are renumbered from 0, so that
    the memory has no gap; then no file holds rows with these numbers.

    Returns:
        An error for each damaged file.

    Raises:
        InputError: the rows of an intact file do not fit the memory.
    """
    whole, damage = list[ReplayFile](), list[InputError]()
    for file in files:
        try:
            check_whole(folder / REPLAY / file.name, Fingerprint(file.bytes, file.sha256))
            whole.append(file)
        except InputError as error:
            damage.append(error)
    start = 0
    for file in whole:
        start = start if damage else file.start
        stop = start + file.stop - file.start
        rows = load_arrays(folder / REPLAY / file.name)
        try:
            memory.load_rows(start, stop, rows)
        except (LookupError, TypeError, ValueError) as error:
            raise InputError(f"{folder / REPLAY / file.name} holds no rows of this run ({error}).") from error
        start = stop
    return damage


def unused(folder: Path, used: Iterable[ReplayFile]) -> list[Path]:
    """Returns files that no checkpoint needs or that a crash left unfinished, but no files of others."""
    names = {file.name for file in used}
    ours = re.compile(f"{REPLAY_FILE}|{UNFINISHED_REPLAY}")
    return [path for path in (folder / REPLAY).glob("*") if path.name not in names and ours.fullmatch(path.name)]
