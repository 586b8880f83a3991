"""Tracks who last stepped each environment, so that foreign episodes are restarted."""

import weakref
from typing import Any

from gymnasium.vector import SyncVectorEnv, VectorEnv

from acer_tf.envs.stable_baselines import StableBaselinesEnv
from acer_tf.errors import InputError


class Player:
    """Identifies who steps environments: an agent in training, or a single evaluation.

    Attributes:
        is_learning: whether other players are refused in the environments that this one steps.
    """

    def __init__(self) -> None:
        """Creates a player that has not stepped any environment."""
        self.is_learning = False

    def enter(self, env: VectorEnv[Any, Any, Any]) -> bool:
        """Records this player as the last in the environments.

        Returns:
            Whether it was the last in all of them already, so that its episodes can continue.

        Raises:
            InputError: another player is learning there; nothing has been changed then.
        """
        innermost = _innermost(env)
        last = [_LAST.get(number) for number in innermost]
        if any(player is not None and player is not self and player.is_learning for player in last):
            raise InputError("the environment is that of training, which is running in it; evaluate in one of its own.")
        _LAST.update(dict.fromkeys(innermost, self))
        return all(player is self for player in last)


_LAST: "weakref.WeakValueDictionary[int, Player]" = weakref.WeakValueDictionary()
"""The last player in each single environment, by its `id()`."""


def _innermost(env: VectorEnv[Any, Any, Any]) -> list[int]:
    inner = env.unwrapped
    if isinstance(inner, SyncVectorEnv):
        return [id(single.unwrapped) for single in inner.envs]
    return [id(inner.innermost if isinstance(inner, StableBaselinesEnv) else inner)]
