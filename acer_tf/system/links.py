"""Opens files for writing without following links."""

import os


def without_links(path: str, flags: int) -> int:
    """An opener for `open` and `io.FileIO` that does not follow links, except on Windows.

    Raises:
        OSError: the path is a link.
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
