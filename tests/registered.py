"""Temporary gymnasium ids."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium


@contextlib.contextmanager
def registered(name: str, entry: str | Callable[..., Any], **kwargs: Any) -> Iterator[None]:
    """Registers an id for an entry point and its arguments while the block runs."""
    gymnasium.register(name, entry, kwargs=kwargs)
    try:
        yield
    finally:
        del gymnasium.registry[name]
