"""Bounds of the memory that a block takes."""

import contextlib
import tracemalloc
from collections.abc import Iterator


@contextlib.contextmanager
def at_most(size: float) -> Iterator[None]:
    """Checks that Python and numpy never hold more than this many bytes beyond those at the beginning."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()
