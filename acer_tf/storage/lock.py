"""Locks: of a run folder, also where several hosts share it, and of any folder on this host."""

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
"""Seconds without a renewal after which another host takes a lease over; a lease is renewed three times as often."""


class Lease:
    """The right to write to a folder, which another host may take over while this process is suspended or cut off.

    Attributes:
        token: random text that its file and `HOLDER` hold.
    """

    def __init__(self, folder: Path, lease: filelock.SoftFileLease) -> None:
        """`lease` is held."""
        self._folder = folder
        self._lease = lease
        self.token = lease.token

    def check(self) -> None:
        """Checks that the lease is still this process's.

        A file that cannot be read, as in an outage of the network, is no reason to stop: whoever takes the lease over
        leaves a new one and, if that process has ended since, its token.

        Raises:
            SupersededError: it is, or has been, another process's, so that nothing more may be written to the folder.
        """
        owner = self._lease.owner
        if (last_token(self._folder) if owner is None else owner.token) not in (None, self.token):
            raise SupersededError(
                f"{_holder(self._lease)} has taken {self._folder} over, because this one gave no sign of life for "
                f"{self._lease.lease_duration:g} s; nothing more is written here."
            )


@contextlib.contextmanager
def locked(folder: Path, lease_seconds: float = LEASE_SECONDS) -> Iterator[Lease]:
    """Locks the folder while the block runs; the lock ends with the process, however that ends.

    Two locks are held. The operating system's is exact, but on some network file systems it does not reach other hosts.
    The lease does: a file with host, process and a random token, whose time of change its holder renews. If another
    host holds it, this waits until the holder renews it, and is refused, or until the holder has not for
    `lease_seconds` by this host's clock, and takes it over. The hosts' clocks need not agree.

    Args:
        folder: exists.
        lease_seconds: the same for all processes that lock the folder.

    Raises:
        LockedError: another process holds the lock.
        InputError: the folder cannot be written, or holds a link in the place of a lock.
    """
    if (folder / LEASE).is_symlink():  # which filelock would wait for without an end
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
                replace(folder / HOLDER, str(lease.token).encode())  # which stays when the lease's file goes
            except (filelock.Timeout, filelock.LeaseSettingsMismatch) as error:
                raise LockedError(
                    f"{folder} is locked by {_holder(lease)}, which works in it; choose another folder."
                ) from error
        yield Lease(folder, lease)


def last_token(folder: Path) -> str | None:
    """Returns the token of the lease that was held last; None if that cannot be read."""
    try:
        return (folder / HOLDER).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def is_locked(folder: Path) -> bool:
    """Whether another process of this host works in the folder."""
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
        Timeout: the holder renewed it.
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
            file.unlink(missing_ok=True)  # empty since its writer was killed: filelock would wait for ever
        return len(renewals) > 1

    lease.acquire(poll_interval=lease.lease_duration / 60, cancel_check=is_renewed)


def _holder(lease: filelock.SoftFileLease) -> str:
    owner = lease.owner
    return "another process" if owner is None else f"process {owner.pid} on {owner.hostname}"


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Lets one process of this host at a time work with a folder, without a file of a lock that could be left there.

    Windows cannot lock a folder; there nobody is kept out.
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
