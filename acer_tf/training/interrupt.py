"""Ctrl-C as a request: training stops after the current update; a second one stops at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

MESSAGE = b"\nstopping after this update; press Ctrl-C again to stop at once\n"


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether Ctrl-C was pressed; the second press raises KeyboardInterrupt.

    Works in the main thread only, where Python handles signals.
    """
    requested = threading.Event()

    def handle(signum: int, frame: FrameType | None) -> None:
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()
        # Unlike print, this is safe when the interrupted code is printing.
        os.write(2, MESSAGE)

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield requested.is_set
    finally:
        signal.signal(signal.SIGINT, previous)
