"""Ends the process when it no longer makes progress."""

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType

LONGEST = 1e9
"""Longest time in seconds, about 31 years, as the kernel's timer has a limit."""


def watchdog(seconds: float) -> AbstractContextManager[Callable[[], None]]:
    """Yields a heartbeat: a function that must be called at least once in every period of `seconds`.

    Otherwise, the stacks of all threads are printed to standard error and SIGALRM ends the process, wherever it hangs:
    in Python, or in C code that holds the interpreter's lock, which neither the kernel's timer nor faulthandler needs.
    Time after Ctrl-Z (SIGTSTP) does not count; time after SIGSTOP, which no process can notice, does. At any time, the
    signal SIGUSR2 shows the stacks of all threads. Windows has none of these signals; there, a faulthandler thread
    prints the stacks and ends the process with status 1.
    """
    seconds = min(seconds, LONGEST)
    return _by_thread(seconds) if sys.platform == "win32" else _by_signal(seconds)


@contextlib.contextmanager
def _by_thread(seconds: float) -> Iterator[Callable[[], None]]:
    with open(os.dup(2), "wb") as standard_error:

        def heartbeat() -> None:
            faulthandler.dump_traceback_later(seconds, exit=True, file=standard_error)

        heartbeat()
        try:
            yield heartbeat
        finally:
            faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def _by_signal(seconds: float) -> Iterator[Callable[[], None]]:
    def heartbeat() -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def suspend(signum: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(signal.SIGSTOP)  # returns once the process is continued
        heartbeat()

    with open(os.dup(2), "wb") as standard_error:  # TensorFlow's start redirects descriptor 2
        alarm, stop = signal.signal(signal.SIGALRM, signal.SIG_DFL), signal.signal(signal.SIGTSTP, suspend)
        faulthandler.register(signal.SIGALRM, standard_error, chain=True)  # then the default action: the end
        faulthandler.register(signal.SIGUSR2, standard_error)
        timer = signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield heartbeat
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.unregister(signal.SIGUSR2)
            faulthandler.unregister(signal.SIGALRM)
            signal.signal(signal.SIGTSTP, stop)
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, *timer)  # even if others use it, such as test runners
