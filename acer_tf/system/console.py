"""Console output that never interrupts training."""

import contextlib
import sys

from rich.filesize import pick_unit_and_suffix


def say(text: str, *, is_error: bool = False) -> None:
    """Prints at once; a closed pipe, or a full disk behind the stream, loses the text but not the run.

    Args:
        text: without the end of its last line.
        is_error: prints to standard error.
    """
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr if is_error else sys.stdout, flush=True)


def in_bytes(number: float) -> str:
    """Formats a number of bytes in GiB, MiB, KiB or bytes."""
    unit, suffix = pick_unit_and_suffix(int(number), ["bytes", "KiB", "MiB", "GiB"], 1024)
    decimals = {"bytes": 0, "GiB": 2}.get(suffix, 1)
    return f"{number / unit:.{decimals}f} {suffix}"
