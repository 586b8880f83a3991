"""Console output that never interrupts training."""

import contextlib
import sys


def say(text: str, *, is_error: bool = False) -> None:
    """Prints at once; a closed pipe, or a full disk behind the stream, loses the text but not the run.

    Args:
        text: without the end of its last line.
        is_error: prints to standard error.
    """
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr if is_error else sys.stdout, flush=True)


def in_bytes(number: float) -> str:
    """Formats a number of bytes in GiB, or in MiB below 1 GiB."""
    return f"{number / 2**30:.2f} GiB" if number >= 2**30 else f"{number / 2**20:.1f} MiB"
