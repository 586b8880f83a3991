"""Hopper-v5 with a few levels for each joint, a MultiDiscrete task: `--env benchmarks.discretized:HopperLevels-v5`."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray


class Levels(gym.ActionWrapper[Any, NDArray[np.int64], NDArray[np.float32]]):
    """Offers evenly spaced levels for each dimension of a bounded continuous action, including its bounds."""

    def __init__(self, env: gym.Env[Any, NDArray[np.float32]], levels: int = 3) -> None:
        """Wraps an environment.

        Args:
            env: an environment whose action space is a bounded `Box` of one dimension.
            levels: number of levels for each dimension of the action.
        """
        super().__init__(env)
        space = env.action_space
        assert isinstance(space, gym.spaces.Box) and space.is_bounded()
        self._values = np.linspace(space.low, space.high, levels).astype(space.dtype)
        self.action_space = gym.spaces.MultiDiscrete([levels] * space.shape[0])

    def action(self, action: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns the value of each dimension's level."""
        values: NDArray[np.float32] = self._values[action, np.arange(len(action))]
        return values


def _hopper(**kwargs: Any) -> gym.Env[Any, Any]:
    return Levels(gym.make("Hopper-v5", **kwargs))


gym.register("HopperLevels-v5", _hopper, max_episode_steps=None)
