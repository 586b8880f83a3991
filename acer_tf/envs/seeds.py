"""Seeds of environments that runs with neighbouring seeds do not share."""

from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv


def environment_seeds(env: VectorEnv[Any, Any, Any], seed: int | None) -> Any:
    """Returns the `seed` for `env.reset`.

    gymnasium's own vector environments seed environment i with `seed + i`, so that runs with neighbouring seeds would
    share environments: they get a list of independent seeds. Any other vector environment gets the number.

    Args:
        env: vector environment, wrapped or not.
        seed: whole number >= 0; None continues the random streams.
    """
    if seed is None or not isinstance(env.unwrapped, SyncVectorEnv | AsyncVectorEnv):
        return seed
    return np.random.SeedSequence(seed).generate_state(env.num_envs).tolist()


def next_seed(seed: int) -> int:
    """Returns the seed, below 2⁶⁴, of the game that replaces a lost one of this seed."""
    return int(np.random.SeedSequence(seed).spawn(1)[0].generate_state(1, np.uint64)[0])
