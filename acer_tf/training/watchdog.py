"""Ends the process when nothing moves any more."""

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from acer_tf.system.exit_switch import exit_switch
from acer_tf.system.statuses import Status

PROGRAM = Path(__file__).with_name("supervisor.py")
SHOW_STACKS = signal.SIGUSR2


@contextlib.contextmanager
def watchdog(seconds: float) -> Iterator[Callable[[], None]]:
    """Yields a function that must be called at least once in every period of `seconds`.

    Otherwise the stacks of all threads are printed to standard error and the process exits with status 75, wherever it
    hangs: in Python, or in C code that holds the interpreter's lock. Time in which the process was suspended does not
    count. Meanwhile the signal SIGUSR2 shows the stacks of all threads at any time.

    A process of its own (supervisor.py) keeps the time: within this one, nothing runs that needs the lock.
    """
    standard_error = os.dup(2)  # TensorFlow's greeting is hidden by redirecting 2 for a while
    faulthandler.register(SHOW_STACKS, file=standard_error, all_threads=True)
    supervisor = subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM), str(os.getpid()), str(seconds), str(int(SHOW_STACKS))],
        stdin=subprocess.PIPE,
        stdout=exit_switch(Status.STALLED),
        bufsize=0,
        process_group=0,  # Ctrl-C in the terminal is not for it
    )
    assert supervisor.stdin is not None
    heartbeats = supervisor.stdin.fileno()
    os.set_blocking(heartbeats, False)

    def moved() -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # it has enough to read, or was killed
            os.write(heartbeats, b".")

    try:
        yield moved
    finally:
        supervisor.kill()
        supervisor.stdin.close()
        supervisor.wait()
        faulthandler.unregister(SHOW_STACKS)
        os.close(standard_error)
