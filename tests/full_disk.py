"""A disk that is full."""

import contextlib
import resource
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[Callable[[], None]]:
    """Limits files to `size` bytes: a write stores what still fits, then fails. Yields a function that makes room."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def make_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield make_room
    finally:
        make_room()
