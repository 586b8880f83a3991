"""A lock that lets one process at a time write to a run folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import filelock

from acer_tf.errors import InputError

LOCK_FILES = (".lock", ".pid")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Locks the folder while the block runs; the lock ends with the process, however that ends.

    Raises:
        InputError: another process holds the lock, or the folder cannot be written.
    """
    holder = folder / LOCK_FILES[1]
    lock = filelock.FileLock(folder / LOCK_FILES[0], timeout=0)
    try:
        lock.acquire()
        holder.write_text(str(os.getpid()), encoding="utf-8")
    except filelock.Timeout as error:
        pid = holder.read_text(encoding="utf-8") if holder.exists() else "?"
        raise InputError(f"{folder} is locked by process {pid}, which trains in it; choose another folder.") from error
    except OSError as error:
        lock.release()
        raise InputError(f"{folder} cannot be written ({error.strerror}); choose another folder.") from error
    try:
        yield
    finally:
        lock.release()
