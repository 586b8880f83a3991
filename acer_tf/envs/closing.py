"""Closes environments without losing work already done: an error in `close` becomes a warning."""

import contextlib
from collections.abc import Iterator
from typing import Protocol, TypeVar

from acer_tf.errors import EnvironmentFailedError, InputError, environment_errors
from acer_tf.system.console import say


class Closable(Protocol):
    """An object that can be closed."""

    def close(self) -> object:
        """Frees its resources."""
        ...


AnyClosable = TypeVar("AnyClosable", bound=Closable)


def close_quietly(env: Closable) -> None:
    """Closes environments, or an object that holds some; warns if that raises an error."""
    try:
        with environment_errors():
            env.close()
    except (EnvironmentFailedError, InputError) as error:
        say(f"warning: the environments could not be closed: {error}", is_error=True)


@contextlib.contextmanager
def closing(env: AnyClosable) -> Iterator[AnyClosable]:
    """Yields environments, and closes them at the end as `close_quietly` does."""
    try:
        yield env
    finally:
        close_quietly(env)
