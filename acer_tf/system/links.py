"""Files that are opened for writing where they are, and not where a link leads."""

import os


def without_links(path: str, flags: int) -> int:
    """Opener for `open` and `io.FileIO` that does not follow a link, whose target may be anything; on Windows it does.

    Raises:
        OSError: the path is a link.
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
