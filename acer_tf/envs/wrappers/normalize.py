"""Normalises observations and rewards by running moments, which are saved with the agent; scales rewards."""

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorRewardWrapper, VectorWrapper
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.utils import RunningMeanStd

from acer_tf.envs.wrappers.base import Array, ObservationWrapper, StepReturn, wrappers_of
from acer_tf.errors import InputError
from acer_tf.packing import Packed

CLIP = 10.0
EPS = 1e-8


class Moments(RunningMeanStd):
    """Running mean and variance of arrays, float64 in their shape: 0 and 1 before the first array.

    Attributes:
        is_frozen: whether `update` changes nothing.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(epsilon=0, shape=shape)  # type: ignore[no-untyped-call]
        self.is_frozen = False

    def update(self, batch: Array) -> None:
        """Includes a batch, [N, ...], unless it has numbers that end the run (`Runner`)."""
        if not self.is_frozen and is_finite(batch).all():
            super().update(batch)  # type: ignore[no-untyped-call]


class NormalizeObservations(ObservationWrapper):
    """Normalises observations to (observation − mean) / √(variance + EPS), clipped to ±10, as float32.

    Mean and variance are those of all observations so far, in all environments. Replay holds what the agent saw:
    observations as they were normalised at the time. The last observations of episodes (`final_obs`) are normalised
    likewise, but do not count. gymnasium's own wrapper does not accept environments that reset in the step in which an
    episode ends.

    Attributes:
        name: prefix of the moments in `normalization_state`.
        moments: moments of the observations.
    """

    name = "obs"

    def __init__(self, env: VectorEnv[Array, Any, Array]) -> None:
        super().__init__(env)
        if isinstance(env.single_observation_space, Packed):
            raise InputError(
                "observations with images in a Dict or Tuple are not normalised; leave normalize_observations out "
                "(--normalize_observations False where a preset has it), or normalise the vectors in a wrapper of the "
                "environment."
            )
        shape = env.single_observation_space.shape
        assert shape is not None
        self.moments = Moments(shape)
        self.single_observation_space = Box(-CLIP, CLIP, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def observations(self, obs: Array) -> Array:
        """Includes observations [N, *observation] in the moments, then normalises them."""
        self.moments.update(obs.astype(np.float64))
        return self.final_observation(obs)

    def final_observation(self, obs: Array) -> Array:
        """Normalises observations [..., *observation] by the current moments."""
        return normalized(obs, self.moments.mean, self.moments.var)


def normalized(obs: Array, mean: Array, variance: Array) -> Array:
    """Normalises observations [..., *observation] by a mean and a variance, and clips them to ±CLIP."""
    with np.errstate(over="ignore"):
        return _clipped((obs - mean) / np.sqrt(variance + EPS), obs).astype(np.float32)


def _clipped(scaled: Array, raw: Array) -> Array:
    """Clips numbers to ±CLIP, in place, except those that are not finite in float32: these end the run (`Runner`)."""
    return np.clip(scaled, -CLIP, CLIP, out=scaled, where=is_finite(raw))


def is_finite(array: Array) -> Array:
    """Returns which numbers are finite in float32, as networks get them."""
    with np.errstate(over="ignore"):  # what is too large for the networks becomes infinite
        return np.isfinite(array.astype(np.float32))


class NormalizeRewards(VectorWrapper[Array, Any, Array, Any, Array]):
    """Divides rewards by the running standard deviation of the discounted return, √(variance + EPS); clips to ±10.

    An environment's return is that of its episode so far: R ← gamma · R + reward, 0 where an episode begins, as in
    Stable Baselines' VecNormalize. gymnasium's own wrapper forgets the return before the reward that ends an episode,
    and does not clip.

    Attributes:
        name: prefix of the moments in `normalization_state`.
        moments: moments of the discounted returns.
    """

    name = "return"

    def __init__(self, env: VectorEnv[Array, Any, Array], gamma: float) -> None:
        super().__init__(env)
        self.moments = Moments(())
        self._gamma = gamma
        self._returns = np.zeros(env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets the environments; their returns begin at 0."""
        self._returns[:] = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> StepReturn:
        """Steps the environments."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        self._returns = self._gamma * self._returns + rewards  # R ← gamma · R + r
        self.moments.update(self._returns)
        self._returns[terminations | truncations] = 0  # only now: the last reward belongs to its episode
        scaled = _clipped(rewards / np.sqrt(self.moments.var + EPS), rewards)
        return obs, scaled, terminations, truncations, infos


class ScaleRewards(VectorRewardWrapper[Array, Any, Array]):
    """Multiplies rewards by a constant.

    Attributes:
        scale: the constant.
    """

    def __init__(self, env: VectorEnv[Array, Any, Array], scale: float) -> None:
        super().__init__(env)
        self.scale = scale

    def rewards(self, rewards: Array) -> Array:
        """Multiplies rewards, [N]."""
        return self.scale * rewards


def reward_scale(env: VectorEnv[Any, Any, Any]) -> float:
    """Returns the product of the scales of all ScaleRewards around an environment; 1 if there is none."""
    return math.prod((w.scale for w in wrappers_of(env) if isinstance(w, ScaleRewards)), start=1.0)


def normalization_state(env: VectorEnv[Any, Any, Any]) -> dict[str, Array]:
    """Returns the running moments of all normalising wrappers around an environment; empty if there are none.

    Returns:
        `obs_mean` and `obs_var`, in the shape of one observation, and `obs_count`, []; `return_mean`, `return_var` and
        `return_count`, [] each. All are float64, except that counts may be integers.
    """
    return {
        f"{wrapper.name}_{moment}": np.array(getattr(wrapper.moments, moment))
        for wrapper in _normalizing(env)
        for moment in ("mean", "var", "count")
    }


def load_normalization_state(env: VectorEnv[Any, Any, Any], state: Mapping[str, Array]) -> None:
    """Sets the running moments to what `normalization_state` returned.

    Raises:
        InputError: the state belongs to an environment that is normalised in another way; nothing has been changed.
    """
    expected = {name: array.shape for name, array in normalization_state(env).items()}
    found = {name: array.shape for name, array in state.items()}
    if found != expected:
        name = min(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        raise InputError(
            f"the saved normalisation does not fit the environment: {name} has shape {found.get(name, 'none')} there, "
            f"{expected.get(name, 'none')} here."
        )
    for wrapper in _normalizing(env):
        mean, var, count = (state[f"{wrapper.name}_{moment}"] for moment in ("mean", "var", "count"))
        moments = wrapper.moments
        moments.mean, moments.var, moments.count = np.array(mean), np.array(var), count.item()


@contextlib.contextmanager
def frozen(env: VectorEnv[Any, Any, Any]) -> Iterator[None]:
    """Freezes an environment's running moments while the block runs, for instance to replay actions."""
    all_moments = [wrapper.moments for wrapper in _normalizing(env)]
    before = [moments.is_frozen for moments in all_moments]
    for moments in all_moments:
        moments.is_frozen = True
    try:
        yield
    finally:
        for moments, was_frozen in zip(all_moments, before, strict=True):
            moments.is_frozen = was_frozen


def _normalizing(env: VectorEnv[Any, Any, Any]) -> Iterator[NormalizeObservations | NormalizeRewards]:
    for wrapper in wrappers_of(env):
        if isinstance(wrapper, NormalizeObservations | NormalizeRewards):
            yield wrapper
