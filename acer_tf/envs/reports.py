"""Whole episodes as environments report them: raw returns, over all lives."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.envs.atari.pool import AtariPool


def reported_episodes(infos: Mapping[str, Any]) -> Iterator[tuple[int, float, int]]:
    """Yields the index of the environment, the raw return and the length of each episode that a step's infos report."""
    # gymnasium's statistics wrapper puts them at the top; a single environment's own wrapper under final_info.
    infos = infos if "episode" in infos else infos.get("final_info", {})
    if isinstance(infos.get("episode"), Mapping):  # else it is the environment's own, a counter for instance
        for i in np.flatnonzero(infos["_episode"]):
            yield int(i), float(infos["episode"]["r"][i]), int(infos["episode"]["l"][i])


def reports_episodes(env: VectorEnv[Any, Any, Any]) -> bool:
    """Says whether episodes are reported: by the Atari pool, or by gymnasium's RecordEpisodeStatistics."""
    while isinstance(env, VectorWrapper):
        if isinstance(env, RecordEpisodeStatistics):
            return True
        env = env.env
    if isinstance(env, SyncVectorEnv | AsyncVectorEnv):
        return all(env.call("has_wrapper_attr", "return_queue"))  # an attribute of that wrapper alone
    return isinstance(env, AtariPool)
