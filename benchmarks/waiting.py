"""An environment whose step waits, as for a remote simulator, without using the processor."""

import functools
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.envs.make import make_vec_env

LENGTH = 100
"""Steps per episode."""


def waiting_envs(number: int, seconds: float) -> VectorEnv[Any, Any, Any]:
    """Makes environments that wait, one after the other."""
    return make_vec_env(functools.partial(Waiting, seconds), number)


class Waiting(gymnasium.Env[NDArray[np.float32], int]):
    """Waits at every step; the reward is 1 for the action that the observation shows."""

    observation_space = Box(0, 1, (4,), np.float32)
    action_space = Discrete(2)

    def __init__(self, seconds: float = 0.02) -> None:
        self._seconds = seconds
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        self._steps = 0
        return self._observed(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Waits, then returns the next observation."""
        time.sleep(self._seconds)
        reward = float(action == self._shown)
        self._steps += 1
        return self._observed(), reward, self._steps == LENGTH, False, {}

    def _observed(self) -> NDArray[np.float32]:
        self._shown = int(self.np_random.integers(2))
        return np.full(4, self._shown, np.float32)
