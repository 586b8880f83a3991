"""Ctrl-C while a command imports its libraries, which turn a KeyboardInterrupt into errors of their own."""

import contextlib
import os
import signal
import sys
import threading
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT


class _End:
    """Handler that ends the process at once: nothing has begun that would have to be saved or closed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            os.write(self._descriptor, b"interrupted\n")
        os._exit(INTERRUPTED)


def end_on_interrupt(descriptor: int = 2) -> None:
    """From here on Ctrl-C ends the process with one line and status 130, unless something else handles it already.

    Args:
        descriptor: where the line is written.
    """
    is_free = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_free and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _End(descriptor))


def raise_on_interrupt() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt again, after `end_on_interrupt`."""
    if isinstance(signal.getsignal(signal.SIGINT), _End):
        signal.signal(signal.SIGINT, signal.default_int_handler)
