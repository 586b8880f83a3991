"""Ctrl-C and SIGTERM, even while a command imports libraries, which turn exceptions into their own errors."""

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

from acer_tf.errors import StoppedError

INTERRUPTED = 128 + signal.SIGINT
ECHO_SECONDS = 0.5
"""Seconds within which a second signal is an echo of the first: `timeout` signals its child and then the group."""


class _End:
    """A handler that ends the process at once, while there is nothing to save or close."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            os.write(self._descriptor, b"interrupted\n")
        os._exit(INTERRUPTED)


def end_on_interrupt(descriptor: int = 2) -> None:
    """Makes Ctrl-C end the process with one line and status 130, unless something else handles it already.

    Where SIGTERM would raise `StoppedError`, it also ends the process, with status 143.

    Args:
        descriptor: where to write the line.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _End(descriptor))
    if signal.getsignal(signal.SIGTERM) is _raise:
        signal.signal(signal.SIGTERM, _exit)


def raise_on_interrupt() -> None:
    """Undoes `end_on_interrupt`: Ctrl-C raises KeyboardInterrupt again, and SIGTERM `StoppedError`."""
    if isinstance(signal.getsignal(signal.SIGINT), _End):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is _exit:
        signal.signal(signal.SIGTERM, _raise)


@contextlib.contextmanager
def raise_on_termination() -> Iterator[None]:
    """Makes SIGTERM raise `StoppedError` in a block, so that files and processes are cleaned up as after Ctrl-C.

    If something else handles SIGTERM, or this is not the main thread, nothing changes.
    """
    is_free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not (is_free and threading.current_thread() is threading.main_thread()):
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Raise:
    """A handler that raises `StoppedError`, but not again for an echo, which would interrupt the cleanup."""

    def __init__(self) -> None:
        self._seconds = -math.inf

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        is_echo = time.monotonic() < self._seconds + ECHO_SECONDS
        self._seconds = time.monotonic()
        if not is_echo:
            raise StoppedError(128 + signum)


_raise = _Raise()


def _exit(signum: int, frame: FrameType | None) -> None:
    os._exit(128 + signum)
