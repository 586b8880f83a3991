"""Locks for a run folder, even if several hosts share it, and for any folder on this host."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import filelock

from acer_tf.errors import InputError, LockedError, SupersededError
from acer_tf.storage.durable import replace, writing
from acer_tf.storage.run_files import HOLDER, LEASE, LOCK
from acer_tf.system.console import say

if sys.platform != "win32":
    import fcntl

LEASE_SECONDS = 60.0
"""Seconds without renewal after which another host takes a lease over; a lease is renewed three times as often."""


class Lease:
    """The right to write to a folder, which another host may take over while this process is suspended or cut off.

    Attributes:
        token: random text in its file and in `HOLDER`.
    """

    def __init__(self, folder: Path, lease: filelock.SoftFileLease) -> None:
        """Takes a lease that this process holds."""
        self._folder = folder
        self._lease = lease
        self.token = lease.token

    def check(self) -> None:
        """Checks that this process still holds the lease.

        A file that cannot be read, as in a network outage, is no reason to stop: a process that takes the lease over
        leaves a new file or, after it has ended, its token.

        Raises:
            SupersededError: another process holds or has held the lease, so nothing more may be written to the folder.
        """
        owner = self._lease.owner
        if (last_token(self._folder) if owner is None else owner.token) not in (None, self.token):
            raise SupersededError(
                f"{_holder(self._lease)} has taken {self._folder} over, because this one gave no sign of life for "
                f"{self._lease.lease_duration:g} s; nothing more is written here."
            )


@contextlib.contextmanager
def locked(folder: Path, lease_seconds: float = LEASE_SECONDS) -> Iterator[Lease]:
    """Locks the folder while the block runs; the lock ends with the process, in whatever way that ends.

    Two locks are held. The operating system's is exact, but on some network file systems it does not reach other hosts.
    The lease does: it is a file with host, process and a random token, whose modification time its holder renews. If
    another host holds it, this process waits: if the holder renews the lease, the lock is refused; if the holder has
    not renewed it for `lease_seconds` by this host's clock, this process takes it over. The hosts' clocks need not
    agree.

    Args:
        folder: an existing folder.
        lease_seconds: the same for all processes that lock the folder.

    Raises:
        LockedError: another process holds the lock.
        InputError: the folder cannot be written, or holds a link in place of a lock.
    """
    if (folder / LEASE).is_symlink():  # filelock would wait for it forever
        raise InputError(f"{folder / LEASE} is a link; delete it, or choose another folder.")
    lock, lease = (
        filelock.FileLock(folder / LOCK, timeout=0),
        filelock.SoftFileLease(folder / LEASE, lease_duration=lease_seconds, thread_local=False),
    )
    with contextlib.ExitStack() as stack:
        with writing(folder, "folder"):
            try:
                stack.enter_context(lock)  # exact on this host, and free as soon as its holder has ended
                _acquire(lease, folder)  # for other hosts; renewed by a thread until it is released
                stack.callback(lease.release)
                replace(folder / HOLDER, str(lease.token).encode())  # it remains when the lease's file is removed
            except (filelock.Timeout, filelock.LeaseSettingsMismatch) as error:
                raise LockedError(
                    f"{folder} is locked by {_holder(lease)}, which is using it; choose another folder."
                ) from error
        yield Lease(folder, lease)


def last_token(folder: Path) -> str | None:
    """Returns the token of the last lease, or None if it cannot be read."""
    try:
        return (folder / HOLDER).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def is_locked(folder: Path) -> bool:
    """Whether another process of this host is using the folder."""
    try:
        with filelock.FileLock(folder / LOCK, timeout=0):
            return False
    except filelock.Timeout:
        return True
    except OSError:
        return False  # as far as one can tell; `locked` reports the reason


def _acquire(lease: filelock.SoftFileLease, folder: Path) -> None:
    """Acquires a lease; if somebody holds it, waits for a sign of life or for the lease's end.

    Raises:
        Timeout: the holder has renewed it.
    """
    try:
        lease.acquire(blocking=False)
        return
    except filelock.Timeout:
        say(f"{folder} is leased by {_holder(lease)}; waiting for a sign of life from it.", is_error=True)
    renewals, end = set(), time.monotonic() + lease.lease_duration

    def is_renewed() -> bool:
        file = Path(lease.lock_file)
        with contextlib.suppress(FileNotFoundError):
            renewals.add(file.lstat().st_mtime_ns)
        if lease.owner is None and len(renewals) == 1 and time.monotonic() > end:
            file.unlink(missing_ok=True)  # empty, as its writer was killed: filelock would wait forever
        return len(renewals) > 1

    lease.acquire(poll_interval=lease.lease_duration / 60, cancel_check=is_renewed)


def _holder(lease: filelock.SoftFileLease) -> str:
    owner = lease.owner
    return "another process" if owner is None else f"process {owner.pid} on {owner.hostname}"


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Lets one process of this host at a time use a folder, without a lock file that could be left behind.

    Windows cannot lock a folder, so there it has no effect.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
