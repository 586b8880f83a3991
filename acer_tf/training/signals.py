"""SIGINT (Ctrl-C), SIGTERM and SIGHUP stop training after the current update, a second signal at once."""

import contextlib
import signal
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from acer_tf.errors import StoppedError
from acer_tf.system.console import say_in_handler
from acer_tf.system.interrupts import ECHO_SECONDS

SIGNALS = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__)
MESSAGE = b"\nstopping after this update; once more stops at once\n"


class Stop:
    """A signal handler that remembers the first signal; a call tells whether one has arrived."""

    def __init__(self, handled: Sequence[signal.Signals]) -> None:
        self._handled = handled
        self._signal: int | None = None
        self._seconds = 0.0

    def __call__(self) -> bool:
        """Returns whether a signal has arrived."""
        return self._signal is not None

    @property
    def status(self) -> int:
        """Exit status of the process: 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP, 0 without a signal."""
        return 0 if self._signal is None else 128 + self._signal

    def take_signals(self) -> dict[int, Any]:
        """Takes the signals over from any other handler, such as an environment's; returns the earlier handlers."""
        return {signum: signal.signal(signum, self.handle) for signum in self._handled}

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Remembers the first signal and prints a hint; a second signal, unless it is an echo, ends the program.

        Raises:
            KeyboardInterrupt: the second signal is SIGINT.
            StoppedError: the second signal is SIGTERM.
        """
        if self._signal is None:
            self._signal, self._seconds = signum, time.monotonic()
            say_in_handler(MESSAGE)
        elif time.monotonic() < self._seconds + ECHO_SECONDS:
            return
        elif signum == signal.SIGINT:
            raise KeyboardInterrupt
        elif signum == signal.SIGTERM:  # on closing a terminal, SIGHUP comes twice, from the shell and the kernel
            raise StoppedError(128 + signum)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yields a function that returns whether one of `SIGNALS` has arrived.

    It works only in the main thread, where Python handles signals. Under nohup, SIGHUP remains ignored.
    """
    stop = Stop([s for s in SIGNALS if s.name != "SIGHUP" or signal.getsignal(s) is not signal.SIG_IGN])
    previous = stop.take_signals()
    try:
        yield stop
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
