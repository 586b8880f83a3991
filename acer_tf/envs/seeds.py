"""Seeds of environments, such that those of different runs do not meet."""

from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv


def environment_seeds(env: VectorEnv[Any, Any, Any], seed: int | None) -> Any:
    """Returns what `env.reset` is to be given as seed.

    gymnasium's own vector environments make `seed + i` of a number, so that neighbouring seeds share environments;
    they get a list of independent seeds. Any other vector environment gets the number.

    Args:
        env: vector environment, wrapped or not.
        seed: whole number >= 0; None goes on with the random streams.
    """
    if seed is None or not isinstance(env.unwrapped, SyncVectorEnv | AsyncVectorEnv):
        return seed
    return np.random.SeedSequence(seed).generate_state(env.num_envs).tolist()


def next_seed(seed: int) -> int:
    """Returns the seed of the game that takes the place of a lost one with this seed; below 2⁶⁴."""
    return int(np.random.SeedSequence(seed).spawn(1)[0].generate_state(1, np.uint64)[0])
