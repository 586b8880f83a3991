"""SIGINT (Ctrl-C) and SIGTERM stop training after the current update; a second signal stops it at once."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

MESSAGE = b"\nstopping after this update; once more stops at once\n"


class Stop:
    """A signal handler that remembers the first signal; calling it tells whether one has arrived."""

    def __init__(self) -> None:
        self._signal: int | None = None

    def __call__(self) -> bool:
        """Returns whether a signal has arrived."""
        return self._signal is not None

    @property
    def status(self) -> int:
        """Exit status of the process: 130 after SIGINT, 143 after SIGTERM, 0 without a signal."""
        return 0 if self._signal is None else 128 + self._signal

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Remembers the first signal and prints a hint; a second signal ends the program.

        Raises:
            KeyboardInterrupt: the second signal is SIGINT.
            SystemExit: the second signal is SIGTERM.
        """
        if self._signal is not None:
            raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(128 + signum)
        self._signal = signum
        # Unlike print, this is safe when the interrupted code is printing.
        os.write(2, MESSAGE)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yields a callable: has SIGINT or SIGTERM arrived? Works in the main thread only, where Python handles signals."""
    stop = Stop()
    previous = {signum: signal.signal(signum, stop.handle) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
