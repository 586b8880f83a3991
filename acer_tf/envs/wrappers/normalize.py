"""Normalises observations and rewards by running statistics, which are saved and can be frozen; scales rewards."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from acer_tf.envs.wrappers.final_obs import map_final_obs
from acer_tf.envs.wrappers.moments import Moments
from acer_tf.errors import InputError

Array = NDArray[Any]

CLIP = 10.0
EPS = 1e-8


class Normalizer(VectorWrapper[Array, Any, Array, Any, Array]):
    """What both wrappers have in common.

    Attributes:
        name: of the statistics in `normalization_state`.
        moments: the statistics.
        is_frozen: whether they stay as they are.
    """

    name: str

    def __init__(self, env: VectorEnv[Array, Any, Array], shape: tuple[int, ...]) -> None:
        """Wraps a vector environment; the statistics are of arrays of this shape."""
        super().__init__(env)
        self.moments = Moments(shape)
        self.is_frozen = False

    def _take_in(self, entries: Array) -> None:
        # What is not finite ends the run (`Runner`), and must not end those that go on from its statistics.
        if not self.is_frozen and np.isfinite(entries).all():
            self.moments.take_in(entries)


class NormalizeObservations(Normalizer):
    """Gives (observation − mean) / √(variance + EPS), clipped to ±10, as float32.

    Mean and variance are those of all observations so far, of all environments. Replay holds what the agent saw:
    observations normalised as they were then. The last observations of episodes (`final_obs`) are normalised likewise,
    but not counted. gymnasium's own wrapper accepts no environment that resets in the step in which an episode ends.
    """

    name = "obs"

    def __init__(self, env: VectorEnv[Array, Any, Array]) -> None:
        """Wraps a vector environment with Box observations."""
        shape = env.single_observation_space.shape
        assert shape is not None
        super().__init__(env, shape)
        self.single_observation_space = Box(-CLIP, CLIP, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets."""
        obs, infos = self.env.reset(seed=seed, options=options)
        self._take_in(obs.astype(np.float64))
        return self.normalized(obs), infos

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        self._take_in(obs.astype(np.float64))
        infos = map_final_obs(infos, lambda _, final: self.normalized(final))
        return self.normalized(obs), rewards, terminations, truncations, infos

    def normalized(self, obs: Array) -> Array:
        """Normalises observations [..., *observation] by the statistics as they are."""
        return normalized(obs, self.moments.mean, self.moments.var)


def normalized(obs: Array, mean: Array, variance: Array) -> Array:
    """Normalises observations [..., *observation] by these statistics; clips to ±CLIP."""
    return np.clip((obs - mean) / np.sqrt(variance + EPS), -CLIP, CLIP).astype(np.float32)


class NormalizeRewards(Normalizer):
    """Divides rewards by the running standard deviation of the discounted return, √(variance + EPS); clips to ±10.

    The return of an environment is that of its episode so far: R ← gamma · R + reward, 0 where an episode begins. It is
    what Stable Baselines' VecNormalize computes. gymnasium's own wrapper forgets the return before the reward that
    ends an episode, and does not clip.
    """

    name = "return"

    def __init__(self, env: VectorEnv[Array, Any, Array], gamma: float) -> None:
        """Wraps a vector environment; `gamma` is the agent's discount factor."""
        super().__init__(env, ())
        self._gamma = gamma
        self._returns = np.zeros(env.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets."""
        self._returns[:] = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        self._returns = self._gamma * self._returns + rewards
        self._take_in(self._returns)
        self._returns[terminations | truncations] = 0
        return obs, np.clip(rewards / np.sqrt(self.moments.var + EPS), -CLIP, CLIP), terminations, truncations, infos


class ScaleRewards(VectorWrapper[Array, Any, Array, Any, Array]):
    """Multiplies rewards.

    Attributes:
        scale: by this.
    """

    def __init__(self, env: VectorEnv[Array, Any, Array], scale: float) -> None:
        """Wraps a vector environment."""
        super().__init__(env)
        self.scale = scale

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        return obs, self.scale * rewards, terminations, truncations, infos


def reward_scale(env: VectorEnv[Any, Any, Any]) -> float:
    """Returns what the environment's rewards are multiplied by."""
    scale = 1.0
    while isinstance(env, VectorWrapper):
        scale *= env.scale if isinstance(env, ScaleRewards) else 1
        env = env.env
    return scale


def normalization_state(env: VectorEnv[Any, Any, Any]) -> dict[str, Array]:
    """Returns the statistics of all normalising wrappers of an environment; empty where there is none.

    Returns:
        `obs_mean` and `obs_var`, shaped as one observation, and `obs_count`, []; `return_mean`, `return_var` and
        `return_count`, [] each. float64, but for the counts, which may be integers.
    """
    return {
        f"{normalizer.name}_{statistic}": np.array(getattr(normalizer.moments, statistic))
        for normalizer in _normalizers(env)
        for statistic in ("mean", "var", "count")
    }


def load_normalization_state(env: VectorEnv[Any, Any, Any], state: Mapping[str, Array]) -> None:
    """Takes over what `normalization_state` returned.

    Raises:
        InputError: it is of an environment that is normalised in another way; nothing has been changed then.
    """
    expected = {name: array.shape for name, array in normalization_state(env).items()}
    found = {name: array.shape for name, array in state.items()}
    if found != expected:
        name = min(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        raise InputError(
            f"the saved normalisation does not fit the environment: {name} has shape {found.get(name, 'none')} there, "
            f"{expected.get(name, 'none')} here."
        )
    for normalizer in _normalizers(env):
        mean, var, count = (state[f"{normalizer.name}_{statistic}"] for statistic in ("mean", "var", "count"))
        moments = normalizer.moments
        moments.mean, moments.var, moments.count = np.array(mean), np.array(var), count.item()


@contextlib.contextmanager
def frozen(env: VectorEnv[Any, Any, Any]) -> Iterator[None]:
    """Makes a context in which no statistics of an environment change, for instance to evaluate."""
    before = [(normalizer, normalizer.is_frozen) for normalizer in _normalizers(env)]
    for normalizer, _ in before:
        normalizer.is_frozen = True
    try:
        yield
    finally:
        for normalizer, was_frozen in before:
            normalizer.is_frozen = was_frozen


def _normalizers(env: VectorEnv[Any, Any, Any]) -> Iterator[Normalizer]:
    while isinstance(env, VectorWrapper):
        if isinstance(env, Normalizer):
            yield env
        env = env.env
