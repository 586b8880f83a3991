"""The last observations of episodes, which environments that reset in the same step give beside the first of the next.

gymnasium puts them into the infos: `final_obs`, [N] of objects, None where no episode ended.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def map_final_obs(infos: dict[str, Any], transform: Callable[[int, Any], NDArray[Any]]) -> dict[str, Any]:
    """Returns the infos with every last observation transformed.

    Args:
        infos: of a step.
        transform: gets the index of the environment and its last observation.
    """
    if "final_obs" not in infos:
        return infos
    final = enumerate(infos["final_obs"])
    mapped = (None if obs is None else transform(env, obs) for env, obs in final)
    return {**infos, "final_obs": np.fromiter(mapped, object)}
