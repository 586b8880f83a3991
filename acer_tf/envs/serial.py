"""Environments one after the other in this process."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.envs.parallel import Maker

ARRAYS = (Box, Discrete, MultiBinary, MultiDiscrete)
"""Spaces whose batches are arrays, one row for each environment."""


class SerialEnvs(SyncVectorEnv):
    """gymnasium's SyncVectorEnv with SAME_STEP autoreset; a step takes less time where spaces are of numbers."""

    def __init__(self, makers: list[Maker]) -> None:
        """Makes the environments."""
        super().__init__(makers, autoreset_mode=AutoresetMode.SAME_STEP)
        self._env_obs: list[Any]
        self._observations: Any
        spaces = self.single_observation_space, self.single_action_space
        self._is_plain = all(type(space) in ARRAYS for space in spaces)

    def step(self, actions: Any) -> Any:
        """Steps all environments, see `SyncVectorEnv`; returns the same, in arrays of its own."""
        if not self._is_plain:
            return super().step(actions)
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros((2, self.num_envs), np.bool_)
        infos: dict[str, Any] = {}
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            obs, rewards[i], terminations[i], truncations[i], info = env.step(action)
            if terminations[i] or truncations[i]:
                infos = self._add_info(infos, {"final_obs": obs, "final_info": info}, i)
                obs, info = env.reset()
            if info:
                infos = self._add_info(infos, info, i)
            self._env_obs[i] = obs
        observations = np.empty_like(self._observations)
        np.stack(self._env_obs, out=observations)
        return observations, rewards, terminations, truncations, infos
