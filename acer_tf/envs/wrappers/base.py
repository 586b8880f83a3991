"""Code shared by the wrappers: types, and the last observations of episodes.

An environment that resets in the step in which an episode ends returns the first observation of the next episode.
gymnasium puts the last observation into the infos: `final_obs`, [N] of objects, None where no episode ended.
"""

import abc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

Array = NDArray[Any]
StepReturn = tuple[Array, Array, Array, Array, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos."""


class ObservationWrapper(VectorWrapper[Array, Any, Any, Any, Array], abc.ABC):
    """Transforms observations, including the last ones of episodes."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets the environments."""
        obs, infos = self.env.reset(seed=seed, options=options)
        return self.observations(obs), infos

    def step(self, actions: Any) -> StepReturn:
        """Steps the environments."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        transformed = self.observations(obs)
        infos = map_final_obs(infos, lambda _, final: self.final_observation(final))
        return transformed, rewards, terminations, truncations, infos

    @abc.abstractmethod
    def observations(self, obs: Any) -> Array:
        """Transforms a batch of observations that the environments returned, [N, ...]."""

    @abc.abstractmethod
    def final_observation(self, obs: Any) -> Array:
        """Transforms the last observation of one episode; called after `observations` for the same step."""


def map_final_obs(infos: dict[str, Any], transform: Callable[[int, Any], Array]) -> dict[str, Any]:
    """Returns the infos of a step with each last observation transformed.

    Args:
        infos: the infos, which are not changed.
        transform: called with the index of the environment and its last observation.
    """
    if "final_obs" not in infos:
        return infos
    final = enumerate(infos["final_obs"])
    mapped = (None if obs is None else transform(env, obs) for env, obs in final)
    return {**infos, "final_obs": np.fromiter(mapped, object)}


def wrappers_of(env: VectorEnv[Any, Any, Any]) -> Iterator[VectorWrapper[Any, Any, Any, Any, Any]]:
    """Yields the wrappers around a vector environment, outermost first."""
    while isinstance(env, VectorWrapper):
        yield env
        env = env.env
