"""Files that survive a crash of the process or the machine: written durably, and checked before they are read."""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from acer_tf.errors import InputError

BLOCK = 2**20


class Fingerprint(NamedTuple):
    """Size and digest that identify a file.

    Attributes:
        bytes: size of the file.
        sha256: SHA-256 of its contents, in hexadecimal digits.
    """

    bytes: int
    sha256: str


@contextlib.contextmanager
def creating(path: Path) -> Iterator[BinaryIO]:
    """Yields a new file, whose contents are on the disk when the block ends.

    Raises:
        OSError: the file exists, or the disk is full or cannot be written.
    """
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yields a temporary file, which replaces the file at `path` at the end.

    After a crash or an exception, either the old file or the new one is there, never part of it. The new file has the
    old one's permissions. A link is replaced, not followed.

    Raises:
        OSError: the file cannot be written; the error does not name the temporary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = unfinished(path)
    try:
        with creating(temporary) as file:
            if path.is_file() and not path.is_symlink():
                with contextlib.suppress(OSError):  # from file systems without permissions
                    shutil.copymode(path, temporary)
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename, error.filename2 = str(path), None
        raise


def replace(path: Path, content: bytes) -> None:
    """Writes a complete file, or leaves the one at `path` unchanged; see `replacing`."""
    with replacing(path) as file:
        file.write(content)


def write_json(path: Path, values: object) -> None:
    """Writes values as indented JSON.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        replace(path, json.dumps(values, indent=2).encode() + b"\n")


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder, which is renamed when the block ends without an error; it replaces an empty folder.

    Raises:
        InputError: the folder cannot be written, or is not empty.
    """
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
            new = Path(temporary) / folder.name
            new.mkdir()
            yield new
            if folder.exists():
                folder.rmdir()  # Windows cannot rename onto a folder
            publish(new, folder)


def require_free(path: Path, may_be_empty: bool = False) -> None:
    """Checks that a file or folder does not exist yet, and that permissions allow to make it.

    Args:
        path: the file or folder.
        may_be_empty: whether it may exist as an empty folder.

    Raises:
        InputError: it exists, or nothing can be written there.
    """
    with writing(path):
        if path.exists() and not (may_be_empty and path.is_dir() and not any(path.iterdir())):
            raise InputError(f"{path} exists; choose another name.")
        folder = next((folder for folder in path.absolute().parents if folder.exists()), None)
        if folder is None:  # a missing drive
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def writing(path: Path, instead: str = "file") -> Iterator[None]:
    """Guards the writing of a file; `instead` names what the user should choose another one of.

    Raises:
        InputError: an `OSError` was raised inside.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}); choose another {instead}.") from error


def make_folder(folder: Path) -> bool:
    """Makes a folder and its parents; returns whether it is new.

    Raises:
        InputError: it cannot be made, or is a file.
    """
    with writing(folder, "folder"):
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
    return is_new


def unfinished(path: Path) -> Path:
    """Returns a hidden path for a file or folder until it is complete; nobody can guess it to make a link there."""
    return path.with_name(f".tmp-{path.name}-{secrets.token_hex(8)}")


def delete_unfinished(path: Path) -> None:
    """Deletes what killed processes have left of replacing a file; no other process may be replacing it now."""
    for temporary in path.parent.iterdir():
        if re.fullmatch(rf"\.tmp-{re.escape(path.name)}-[0-9a-f]+", temporary.name):
            temporary.unlink(missing_ok=True)


def publish(temporary: Path, final: Path) -> None:
    """Renames a file or folder whose contents are on the disk, and waits until its new name is as well."""
    if temporary.is_dir():
        sync_folder(temporary)
    os.replace(temporary, final)
    sync_folder(final.parent)


def sync_folder(folder: Path) -> None:
    """Waits until the names of a folder's entries are on the disk; not on Windows, which cannot open folders."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_missing(path: Path) -> bool:
    """Whether nothing has this path; a network outage does not prove it."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def is_still(path: Path, known: os.stat_result) -> bool:
    """Whether a path still leads to the same file or folder; a network outage does not disprove it."""
    try:
        return os.path.samestat(known, path.stat())
    except OSError as error:
        return not isinstance(error, FileNotFoundError)


def fingerprint(path: Path) -> Fingerprint:
    """Returns size and digest of a file, which is read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return Fingerprint(path.stat().st_size, digest.hexdigest())


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Guards the reading of a file: one that the disk cannot read is as useless as a damaged one.

    Raises:
        InputError: an `OSError` was raised inside.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def read_bounded(path: Path, largest: int) -> bytes:
    """Returns the contents of a file.

    Raises:
        InputError: it cannot be read, has more than `largest` bytes, or is a pipe or a device, which may never end.
    """
    with reading(path):
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a file.")
        size = path.stat().st_size
        with path.open("rb") as file:
            content = bytearray()
            # In blocks: Python allocates as many bytes as it is asked for, and some of the kernel's files have no size.
            while size <= largest and (block := file.read(BLOCK)):
                content += block
                size = len(content)
    if size > largest:
        raise InputError(f"{path} has more than {largest / 2**20:.0f} MiB.")
    return bytes(content)


def check_whole(path: Path, expected: Fingerprint) -> None:
    """Checks size and digest of a file.

    Raises:
        InputError: it is missing, differs or cannot be read.
    """
    with reading(path):
        if not path.is_file() or fingerprint(path) != expected:
            raise InputError(f"{path} is missing or damaged.")
