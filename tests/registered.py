"""Ids of gymnasium's for a while."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium


@contextlib.contextmanager
def registered(name: str, entry: str | Callable[..., Any], **kwargs: Any) -> Iterator[None]:
    """An id, within the block, of what an entry point makes with these arguments."""
    gymnasium.register(name, entry, kwargs=kwargs)
    try:
        yield
    finally:
        del gymnasium.registry[name]
