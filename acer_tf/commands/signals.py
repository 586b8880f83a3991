"""Ctrl-C and SIGTERM as requests: training stops after the current update; a second one stops at once."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

MESSAGE = b"\nstopping after this update; once more stops at once\n"


class Stop:
    """Whether a signal asked to stop, and which."""

    def __init__(self) -> None:
        self._signal: int | None = None

    def __call__(self) -> bool:
        """Says whether to stop."""
        return self._signal is not None

    @property
    def status(self) -> int:
        """The exit status that tells of the signal: 130 for Ctrl-C, 143 for SIGTERM, 0 without one."""
        return 0 if self._signal is None else 128 + self._signal

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Takes a signal.

        Raises:
            KeyboardInterrupt: it is the second Ctrl-C.
            SystemExit: it is another second signal.
        """
        if self._signal is not None:
            raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(128 + signum)
        self._signal = signum
        # Unlike print, this is safe when the interrupted code is printing.
        os.write(2, MESSAGE)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yields what says whether SIGINT or SIGTERM came. Works in the main thread only, where Python handles signals."""
    stop = Stop()
    previous = {signum: signal.signal(signum, stop.handle) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
