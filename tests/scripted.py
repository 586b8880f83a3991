"""An environment that plays what was written down."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

Array = NDArray[Any]


class ScriptedEnv(VectorEnv[Array, Any, Array]):
    """Plays frames [K, N, ...] from the first on, whatever the actions are; every reset and step goes on by one.

    Attributes:
        resets: seed of each reset and the frame it gave.
        actions: those of each step.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        frames: Array,
        rewards: Array | None = None,
        terminations: Array | None = None,
        truncations: Array | None = None,
        infos: dict[int, dict[str, Any]] | None = None,
        nact: int = 2,
    ) -> None:
        """Takes rewards and ends [K, N], zero if None, and infos by frame."""
        length, self.num_envs = frames.shape[:2]
        self.single_observation_space = Box(-np.inf, np.inf, frames.shape[2:], np.float64)
        if frames.dtype != np.float64:
            low, high = (0, 255) if frames.dtype == np.uint8 else (-np.inf, np.inf)
            self.single_observation_space = Box(low, high, frames.shape[2:], frames.dtype.type)
        self.single_action_space = Discrete(nact)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._frames = frames
        self._rewards = np.zeros((length, self.num_envs)) if rewards is None else rewards
        never = np.zeros((length, self.num_envs), np.bool_)
        self._terminations = never if terminations is None else terminations
        self._truncations = never if truncations is None else truncations
        self._infos = infos or {}
        self._t = -1
        self.resets: list[tuple[int | None, int]] = []
        self.actions: list[Array] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        self._t += 1
        self.resets.append((seed, self._t))
        return self._frames[self._t], self._infos.get(self._t, {})

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        self._t += 1
        self.actions.append(actions.copy())
        t = self._t
        return self._frames[t], self._rewards[t], self._terminations[t], self._truncations[t], self._infos.get(t, {})
