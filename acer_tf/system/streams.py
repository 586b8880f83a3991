"""Seeds, and random streams that can be saved."""

import contextlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from acer_tf.errors import InputError
from acer_tf.schema import Seed, validated

_PREDICTIONS = 1


def checked_seed(seed: int | None) -> int:
    """Returns the seed, or a random one for None.

    Raises:
        InputError: it is not a whole number, or too large.
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return int(validated("seed", seed, Seed))


def derived_seed(*numbers: int) -> int:
    """Returns a seed that depends on a seed and further whole numbers, but is otherwise unrelated to them."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def prediction_seed(seed: int) -> int:
    """Derives the seed for an agent's predictions, whose own stream keeps them from affecting learning."""
    return derived_seed(seed, _PREDICTIONS)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seeds Python's and numpy's global random streams for a block, and restores them afterwards."""
    python, legacy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)


def stream_state(rng: np.random.RandomState) -> dict[str, Any]:
    """Returns the state of a random stream: an array `keys`, and numbers."""
    _, keys, position, has_gauss, cached_gaussian = rng.get_state(legacy=True)
    return {"keys": keys, "position": position, "has_gauss": has_gauss, "cached_gaussian": cached_gaussian}


def load_stream_state(rng: np.random.RandomState, state: Mapping[str, Any]) -> None:
    """Restores what `stream_state` returned.

    Raises:
        InputError: the position is outside the keys, where numpy would read arbitrary memory.
    """
    if not 0 <= state["position"] <= len(state["keys"]):
        raise InputError(
            f"a saved random stream is at position {state['position']}; expected 0 to {len(state['keys'])}."
        )
    rng.set_state(("MT19937", *(state[name] for name in ("keys", "position", "has_gauss", "cached_gaussian"))))
