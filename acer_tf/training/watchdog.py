"""Ends the process when it makes no progress any more."""

import contextlib
import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

SHOW_STACKS = signal.SIGUSR2
LONGEST = 1e9
"""Seconds, about 31 years; the kernel's timer does not take any number."""


@contextlib.contextmanager
def watchdog(seconds: float) -> Iterator[Callable[[], None]]:
    """Yields a heartbeat: a function that must be called at least once in every period of `seconds`.

    Otherwise the stacks of all threads are printed to standard error and SIGALRM ends the process, wherever it hangs:
    in Python, or in C code that holds the interpreter's lock, which neither the kernel's timer nor faulthandler needs.
    Time after Ctrl-Z (SIGTSTP) does not count; time after SIGSTOP, which no process can notice, does. Meanwhile the
    signal SIGUSR2 shows the stacks of all threads at any time.
    """

    seconds = min(seconds, LONGEST)

    def heartbeat() -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def suspend(signum: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(signal.SIGSTOP)  # returns once the process is continued
        heartbeat()

    with open(os.dup(2), "wb") as standard_error:  # descriptor 2 is redirected while TensorFlow greets
        alarm, stop = signal.signal(signal.SIGALRM, signal.SIG_DFL), signal.signal(signal.SIGTSTP, suspend)
        faulthandler.register(signal.SIGALRM, standard_error, chain=True)  # then the default action, which is the end
        faulthandler.register(SHOW_STACKS, standard_error)
        timer = signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield heartbeat
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.unregister(SHOW_STACKS)
            faulthandler.unregister(signal.SIGALRM)
            signal.signal(signal.SIGTSTP, stop)
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, *timer)  # whoever else uses it, as test runners do
