"""Episodes as environments report them: raw returns, over all lives."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.stable_baselines import StableBaselinesEnv
from acer_tf.envs.wrappers.base import wrappers_of


def reported_episodes(infos: Mapping[str, Any]) -> Iterator[tuple[int, float, int]]:
    """Yields each episode in the infos of a step: index of the environment, raw return, length in agent steps."""
    # gymnasium's vector wrapper puts them at the top; the wrapper of a single environment, under final_info.
    infos = infos if "episode" in infos else infos.get("final_info", {})
    if isinstance(infos.get("episode"), Mapping):  # else it is an entry of the environment's own, such as a counter
        for i in np.flatnonzero(infos["_episode"]):
            yield int(i), float(infos["episode"]["r"][i]), int(infos["episode"]["l"][i])


def reports_episodes(env: VectorEnv[Any, Any, Any]) -> bool:
    """Returns whether infos report episodes, as those of gymnasium's RecordEpisodeStatistics do."""
    if any(isinstance(wrapper, RecordEpisodeStatistics) for wrapper in wrappers_of(env)):
        return True
    base = env.unwrapped
    if isinstance(base, SyncVectorEnv | AsyncVectorEnv):
        return all(base.call("has_wrapper_attr", "return_queue"))  # an attribute of that wrapper alone
    return isinstance(base, AtariPool | StableBaselinesEnv)
