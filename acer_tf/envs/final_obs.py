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
    final = np.full(len(infos["final_obs"]), None, object)
    for env, obs in enumerate(infos["final_obs"]):
        if obs is not None:
            final[env] = transform(env, obs)
    return {**infos, "final_obs": final}
