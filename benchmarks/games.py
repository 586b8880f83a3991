"""Atari games measured side by side, one per core."""

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from acer_tf.system.threads import cores

T = TypeVar("T")


def of_each(function: Callable[..., T], games: Sequence[str], *arguments: object) -> Iterator[T]:
    """Yields what a function returns of each environment id, given further arguments; tells each on standard error."""
    repeated = ([argument] * len(games) for argument in arguments)
    with ProcessPoolExecutor(cores(), mp_context=multiprocessing.get_context("spawn")) as processes:
        for env_id, result in zip(games, processes.map(function, games, *repeated), strict=True):
            print(env_id, file=sys.stderr, flush=True)
            yield result
