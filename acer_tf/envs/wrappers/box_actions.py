"""Lets a policy act in units of half an action range, and clips what it gives to the environments."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from acer_tf.errors import NotFiniteError

Array = NDArray[Any]


class BoxActions(VectorWrapper[Array, Array, Array, Any, Array]):
    """Takes actions [N, D] float32 where −1 and 1 are the ends of each dimension's range; what lies outside is clipped.

    Of an action space with several axes, D is the number of all its entries.
    """

    def __init__(self, env: VectorEnv[Array, Array, Array]) -> None:
        """Wraps a vector environment with finite Box actions."""
        super().__init__(env)
        space = env.single_action_space
        assert isinstance(space, Box)
        self._space = space
        self.single_action_space = Box(-1, 1, (int(np.prod(space.shape)),), np.float32)
        self.action_space = batch_space(self.single_action_space, env.num_envs)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps.

        Raises:
            NotFiniteError: an action is not a number.
        """
        if not np.isfinite(actions).all():
            env = int(np.argwhere(~np.isfinite(actions))[0, 0])
            message = f"the action for environment {env} is not a finite number: the policy has diverged."
            raise NotFiniteError(message, {"actions": actions})
        return self.env.step(to_space(actions, self._space))


def to_space(actions: Array, space: Box) -> Array:
    """Maps actions to the space: [..., D] in units of half its range from its middle, clipped to it.

    Returns:
        [..., *space.shape], in the space's dtype.
    """
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    fractions = (np.clip(actions, -1, 1).astype(np.float64).reshape(*actions.shape[:-1], *space.shape) + 1) / 2
    return np.clip(low + fractions * (high - low), low, high).astype(space.dtype)


def from_space(actions: Array, space: Box) -> Array:
    """Maps actions of the space, [..., *space.shape], to [..., D] float32: what `to_space` takes, but for clipping."""
    units = (actions - space.low.astype(np.float64)) / half_range(space) - 1
    return units.reshape(*actions.shape[: actions.ndim - len(space.shape)], -1).astype(np.float32)


def half_range(space: Box) -> Array:
    """Returns half the range of each dimension, [*space.shape] float64: the policy's unit."""
    return (space.high.astype(np.float64) - space.low.astype(np.float64)) / 2
