"""What a run says while it trains."""

import contextlib
import sys


def say(text: str, *, is_error: bool = False) -> None:
    """Prints at once; a closed pipe, or a full disk behind the stream, costs the text and not the run.

    Args:
        text: without the end of its last line.
        is_error: goes to standard error.
    """
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr if is_error else sys.stdout, flush=True)
