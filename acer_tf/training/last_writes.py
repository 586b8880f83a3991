"""What a run writes at its end: kept in memory, and tried again, until the disk takes it."""

import time
from collections.abc import Callable
from pathlib import Path

from acer_tf.errors import InputError
from acer_tf.system.console import say

RETRY_SECONDS = 60.0


def write_at_last(
    write: Callable[[], object], path: Path, stop: Callable[[], bool], heartbeat: Callable[[], None]
) -> None:
    """Writes; while the disk does not take it, says so and tries again every minute, until a signal arrives.

    Args:
        write: raises OSError while the disk is full or cannot be written.
        path: what is written, for messages.
        stop: whether a signal has arrived; with one, this tries once.
        heartbeat: called while this waits, so that nobody takes the process for a stuck one.

    Raises:
        InputError: a signal has arrived, and the disk still does not take it.
    """
    while True:
        try:
            write()
            return
        except OSError as error:
            if stop():
                raise InputError(
                    f"{path} cannot be written ({error.strerror or error}); make room and resume."
                ) from error
            say(
                f"{path} cannot be written ({error.strerror or error}); make room: what was learned is kept in "
                "memory, and writing is tried again every minute, until Ctrl-C.",
                is_error=True,
            )
        deadline = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < deadline and not stop():
            heartbeat()
            time.sleep(min(0.2, RETRY_SECONDS))
