"""Environments that are closed at the end of a block."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TypeVar

from gymnasium.vector import VectorEnv

from acer_tf.errors import EnvironmentFailedError, environment_errors

Env = TypeVar("Env", bound=VectorEnv)


@contextlib.contextmanager
def closing(env: Env) -> Iterator[Env]:
    """Yields the environments and closes them; if that raises, the error becomes a warning: their work is done."""
    try:
        yield env
    finally:
        try:
            with environment_errors():
                env.close()
        except EnvironmentFailedError as error:
            print(f"warning: the environments could not be closed: {error}", file=sys.stderr)
