"""Rescales continuous actions: policies act in units of half the range of each dimension, measured from its middle."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from acer_tf.envs.wrappers.base import Array, StepReturn


class BoxActions(VectorWrapper[Array, Array, Array, Any, Array]):
    """Rescales actions [N, D] float32 from [−1, 1] to the range of each dimension; actions outside are clipped.

    D is the total number of entries of an action, whatever its axes.
    """

    def __init__(self, env: VectorEnv[Array, Array, Array]) -> None:
        super().__init__(env)
        space = env.single_action_space
        assert isinstance(space, Box)
        self._space = space
        self.single_action_space = Box(-1, 1, (int(np.prod(space.shape)),), np.float32)
        self.action_space = batch_space(self.single_action_space, env.num_envs)

    def step(self, actions: Array) -> StepReturn:
        """Steps the environments."""
        return self.env.step(to_space(actions, self._space))


def to_space(actions: Array, space: Box) -> Array:
    """Rescales actions [..., D] in units of half the range to the space, and clips them to it.

    Returns:
        [..., *space.shape], in the space's dtype.
    """
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)  # a wide range overflows float32
    fractions = (np.clip(actions, -1, 1).astype(np.float64).reshape(*actions.shape[:-1], *space.shape) + 1) / 2
    # Clipped again: the sum may be rounded beyond a bound.
    return np.clip(low + fractions * (high - low), low, high).astype(space.dtype)


def from_space(actions: Array, space: Box) -> Array:
    """Rescales actions of the space, [..., *space.shape], to units of half the range, [..., D] float32, unclipped."""
    units = (actions - space.low.astype(np.float64)) / half_range(space) - 1
    return units.reshape(*actions.shape[: actions.ndim - len(space.shape)], -1).astype(np.float32)


def half_range(space: Box) -> Array:
    """Returns half the range of each dimension, [*space.shape] float64: the unit of the policy's actions."""
    return (space.high.astype(np.float64) - space.low.astype(np.float64)) / 2
