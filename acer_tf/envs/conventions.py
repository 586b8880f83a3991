"""Conventions of vector environments that gymnasium leaves open: seeds, reports of episodes, and who steps them."""

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.vec_env import StableBaselinesEnv
from acer_tf.envs.vector import AutoresetEnvs, SerialEnvs
from acer_tf.envs.wrappers.base import wrappers_of
from acer_tf.errors import InputError

SINGLES = SyncVectorEnv | AsyncVectorEnv | AutoresetEnvs
"""Vector environments that consist of single environments."""


def environment_seeds(env: VectorEnv[Any, Any, Any], seed: int | None) -> Any:
    """Returns the `seed` for `env.reset`.

    Vector environments of single ones seed environment i with `seed + i`, so runs with neighbouring seeds would share
    environments. These therefore get a list of independent seeds; any other vector environment gets the number.

    Args:
        env: vector environment, wrapped or not.
        seed: whole number >= 0; None continues the random streams.
    """
    if seed is None or not isinstance(env.unwrapped, SINGLES):
        return seed
    return np.random.SeedSequence(seed).generate_state(env.num_envs).tolist()


def reported_episodes(infos: Mapping[str, Any]) -> Iterator[tuple[int, float, int]]:
    """Yields each episode in the infos of a step: index of the environment, raw return, length in agent steps."""
    # gymnasium's vector wrapper puts them at the top level; its wrapper of a single environment, under final_info.
    infos = infos if "episode" in infos else infos.get("final_info", {})
    # Any other entry of that name is the environment's own, such as a counter.
    if isinstance(reports := infos.get("episode"), Mapping) and "_episode" in infos and {"r", "l"} <= reports.keys():
        for i in np.flatnonzero(infos["_episode"]):
            yield int(i), float(reports["r"][i]), int(reports["l"][i])


def reports_episodes(env: VectorEnv[Any, Any, Any]) -> bool:
    """Returns whether infos report episodes, as with gymnasium's RecordEpisodeStatistics."""
    if any(isinstance(wrapper, RecordEpisodeStatistics) for wrapper in wrappers_of(env)):
        return True
    base = env.unwrapped
    if isinstance(base, SINGLES):
        return all(base.call("has_wrapper_attr", "return_queue"))  # only that wrapper has this attribute
    return isinstance(base, AtariPool | StableBaselinesEnv)


class Player:
    """Identifies who steps environments: an agent being trained, or a single evaluation.

    Attributes:
        is_learning: whether other players are refused in the environments that this player steps.
    """

    def __init__(self) -> None:
        self.is_learning = False

    def enter(self, env: VectorEnv[Any, Any, Any]) -> bool:
        """Records this player as the last one in the environments.

        Returns:
            Whether it already was the last one in all of them, so that its episodes can continue.

        Raises:
            InputError: another player is learning there; nothing has been changed.
        """
        singles = _innermost(env)
        last = [player() if (player := _LAST.get(id(single))) else None for single in singles]
        if any(player is not None and player is not self and player.is_learning for player in last):
            raise InputError("the environment is being used for training; evaluate in a separate one.")
        for single in singles:
            if id(single) not in _LAST:  # forgotten along with the environment: another may get its address
                weakref.finalize(single, _LAST.pop, id(single), None)
            _LAST[id(single)] = weakref.ref(self)
        return all(player is self for player in last)


_LAST: dict[int, weakref.ref[Player]] = {}
"""The last player in each single environment, by the environment's `id()`, since it need not be hashable."""


def _innermost(env: VectorEnv[Any, Any, Any]) -> list[Any]:
    inner = env.unwrapped
    if isinstance(inner, SyncVectorEnv | SerialEnvs):
        return [single.unwrapped for single in inner.envs]
    return [inner.innermost if isinstance(inner, StableBaselinesEnv) else inner]
