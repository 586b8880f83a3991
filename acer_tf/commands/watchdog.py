"""Ends the process when training stalls."""

import contextlib
import faulthandler
import os
import sys
import threading
from collections.abc import Callable, Iterator

STALLED = 75
"""Exit status after a stall: `EX_TEMPFAIL` of sysexits.h, so that scripts try again."""


@contextlib.contextmanager
def watchdog(seconds: float) -> Iterator[Callable[[], None]]:
    """Yields a function that must be called at least once in every period of `seconds`.

    Otherwise the stacks of all threads are printed to standard error and the process exits with status 75. It does not
    wait for the main thread, which may hang where no Python exception reaches it.
    """
    tick = min(1.0, seconds / 4)
    waited = [0.0]  # counted in ticks: a process that was stopped, or a machine that slept, has not waited
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(tick):
            waited[0] += tick
            if waited[0] > seconds:
                print(f"nothing has moved for {seconds:g} s; stacks of all threads:", file=sys.stderr, flush=True)
                faulthandler.dump_traceback(all_threads=True)
                os._exit(STALLED)

    def moved() -> None:
        waited[0] = 0.0

    thread = threading.Thread(target=watch, name="watchdog", daemon=True)
    thread.start()
    try:
        yield moved
    finally:
        is_over.set()
        thread.join()
