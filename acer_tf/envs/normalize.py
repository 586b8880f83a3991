"""Normalises observations by their running mean and variance."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

Array = NDArray[Any]

CLIP = 10.0
EPS = 1e-8


def normalizer_of(env: VectorEnv[Any, Any, Any]) -> "NormalizeObservations | None":
    """Returns the wrapper that normalises an environment's observations, None where there is none."""
    while isinstance(env, VectorWrapper):
        if isinstance(env, NormalizeObservations):
            return env
        env = env.env
    return None


class NormalizeObservations(VectorWrapper[Array, Any, Array, Any, Array]):
    """Gives (observation − mean) / √(variance + EPS), clipped to ±10, as float32.

    Mean and variance are those of all observations so far, of all environments. Replay holds what the agent saw:
    observations normalised as they were then. gymnasium's own wrapper accepts no environment that resets in the step
    in which an episode ends.
    """

    def __init__(self, env: VectorEnv[Array, Any, Array]) -> None:
        """Wraps a vector environment with Box observations."""
        super().__init__(env)
        shape = env.single_observation_space.shape
        assert shape is not None
        self.single_observation_space = Box(-CLIP, CLIP, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._update = True
        self._count = 0
        self._mean = np.zeros(shape)
        self._var = np.ones(shape)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets."""
        obs, infos = self.env.reset(seed=seed, options=options)
        return self._normalized(obs), infos

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        return self._normalized(obs), rewards, terminations, truncations, infos

    def state_dict(self) -> dict[str, Array]:
        """Returns the statistics: mean and variance, shaped as one observation, and the count of observations, []."""
        return {"obs_mean": self._mean, "obs_var": self._var, "obs_count": np.asarray(self._count)}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Takes over what `state_dict` returned."""
        self._mean, self._var = np.copy(state["obs_mean"]), np.copy(state["obs_var"])
        self._count = int(state["obs_count"])

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Makes a context in which the statistics do not change, for instance to evaluate."""
        self._update = False
        try:
            yield
        finally:
            self._update = True

    def _normalized(self, obs: Array) -> Array:
        if self._update:
            self._take_in(obs.astype(np.float64))
        return np.clip((obs - self._mean) / np.sqrt(self._var + EPS), -CLIP, CLIP).astype(np.float32)

    def _take_in(self, obs: Array) -> None:
        """Merges the moments of N observations with those of all before (Chan, Golub and LeVeque, 1983)."""
        before, self._count = self._count, self._count + len(obs)
        share = len(obs) / self._count
        away = obs.mean(axis=0) - self._mean
        self._mean = self._mean + share * away
        self._var = (1 - share) * self._var + share * obs.var(axis=0) + before / self._count * share * away**2
