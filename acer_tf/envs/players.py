"""Who plays in an environment: episodes that another has stepped cannot be gone on with."""

import weakref
from typing import Any

from gymnasium.vector import SyncVectorEnv, VectorEnv

from acer_tf.errors import InputError


class Player:
    """One who steps environments, each player an object of its own.

    Attributes:
        is_learning: whether others must keep out for now.
    """

    def __init__(self) -> None:
        """Has been nowhere yet."""
        self.is_learning = False

    def enter(self, env: VectorEnv[Any, Any, Any]) -> bool:
        """Comes to play; says whether nobody else has been there since this player last came.

        Raises:
            InputError: another player is learning there; nothing has been changed then.
        """
        innermost = _innermost(env)
        last = [_LAST.get(number) for number in innermost]
        if any(player is not None and player is not self and player.is_learning for player in last):
            raise InputError("the environment is that of training, which goes on in it; evaluate in one of its own.")
        _LAST.update(dict.fromkeys(innermost, self))
        return all(player is self for player in last)


_LAST: "weakref.WeakValueDictionary[int, Player]" = weakref.WeakValueDictionary()
"""Who last came into each environment, by its id()."""


def _innermost(env: VectorEnv[Any, Any, Any]) -> list[int]:
    inner = env.unwrapped
    return [id(single.unwrapped) for single in inner.envs] if isinstance(inner, SyncVectorEnv) else [id(inner)]
