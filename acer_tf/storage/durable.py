"""Files that survive a crash of the process or of the machine."""

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

BLOCK = 2**20


class Fingerprint(NamedTuple):
    """What a file must be.

    Attributes:
        bytes: its size.
        sha256: of its contents, in hexadecimal digits.
    """

    bytes: int
    sha256: str


def write_durably(path: Path, data: bytes) -> None:
    """Writes a new file and waits until it is on the disk."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yields a file to write, which gets this path at the end: after a crash the old one is there or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def publish(temporary: Path, final: Path) -> None:
    """Renames a file or folder, all of whose contents are on the disk, and waits until the name is there too."""
    if temporary.is_dir():
        sync_folder(temporary)
    os.replace(temporary, final)
    sync_folder(final.parent)


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fingerprint(path: Path) -> Fingerprint:
    """Reads the whole file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return Fingerprint(path.stat().st_size, digest.hexdigest())


def free_path(path: Path, suffix: str = "") -> Path:
    """Returns the path, or the first of `path-2`, `path-3`, ... that does not exist yet; each with the suffix."""
    names = itertools.chain([path.name], (f"{path.name}-{number}" for number in itertools.count(2)))
    return next(free for name in names if not (free := path.with_name(name + suffix)).exists())
