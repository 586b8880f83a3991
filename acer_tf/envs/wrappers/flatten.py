"""Makes vectors of observations that are not arrays of numbers: one-hot for choices, parts joined."""

import math
from collections.abc import Iterator
from typing import Any, TypeGuard

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from acer_tf.envs.wrappers.final_obs import map_final_obs
from acer_tf.errors import InputError

Array = NDArray[Any]
Path = tuple[Any, ...]

LARGEST = 2**20
"""Entries that one-hot vectors may have together."""


class Flatten:
    """Turns observations of a space, one or a batch, into what networks take.

    A Box stays as it is, but for one without axes, which gets one. Everything else becomes a vector: Discrete and
    MultiDiscrete one-hot, as uint8; MultiBinary as it is; of a Dict or Tuple, nested or not, the parts' vectors joined.
    The entries are in the order of `gymnasium.spaces.flatten`; the dtype is the smallest that holds all parts.

    Attributes:
        space: of what comes out.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        """Takes the space of one observation.

        Raises:
            InputError: a space, or a part of it, that cannot be flattened; the message says what was expected.
        """
        self._leaves = [(path, _leaf(part, path)) for path, part in parts_of(space)]
        if not sum(leaf.low.size for _, leaf in self._leaves):
            raise InputError("the observation space is empty; expected at least one number.")
        self.space = space if _is_array(space) else self._joined_space()

    def __call__(self, observations: Any) -> Array:
        """Flattens an observation, or a batch of N as a vector environment gives it.

        Returns:
            [*space.shape] or [N, *space.shape], in the space's dtype.

        Raises:
            InputError: it is none of the space's.
        """
        try:
            vectors = [leaf(_at(observations, path)) for path, leaf in self._leaves]
        except (KeyError, IndexError, TypeError) as error:
            raise InputError("an observation lacks a part of the observation space.") from error
        joined = vectors[0] if len(vectors) == 1 else np.concatenate(vectors, axis=-1)
        return joined.reshape(*joined.shape[:-1], *self.space.shape)

    def _joined_space(self) -> Box:
        low = np.concatenate([leaf.low for _, leaf in self._leaves])
        high = np.concatenate([leaf.high for _, leaf in self._leaves])
        return Box(low, high, dtype=low.dtype.type)


class FlattenObservations(VectorWrapper[Array, Any, Any, Any, Array]):
    """Gives a vector environment's observations flattened, all environments at once."""

    def __init__(self, env: VectorEnv[Any, Any, Array]) -> None:
        """Wraps a vector environment.

        Raises:
            InputError: as `Flatten`.
        """
        super().__init__(env)
        self._flatten = Flatten(env.single_observation_space)
        self.single_observation_space = self._flatten.space
        self.observation_space = batch_space(self._flatten.space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets."""
        obs, infos = self.env.reset(seed=seed, options=options)
        return self._flatten(obs), infos

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        infos = map_final_obs(infos, lambda _, final: self._flatten(final))
        return self._flatten(obs), rewards, terminations, truncations, infos


def flattened(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Returns the environment with observations in arrays of at least one axis; itself if they are.

    Raises:
        InputError: as `Flatten`.
    """
    return env if _is_array(env.single_observation_space) else FlattenObservations(env)


def _is_array(space: gymnasium.Space[Any]) -> TypeGuard[Box]:
    return isinstance(space, Box) and space.shape != ()


class _Numbers:
    """Box or MultiBinary: the numbers themselves, in one row."""

    def __init__(self, space: Box | MultiBinary) -> None:
        box = space if isinstance(space, Box) else Box(0, 1, space.shape, np.int8)
        self._shape, self._dtype = box.shape, box.dtype
        self.low, self.high = box.low.ravel(), box.high.ravel()

    def __call__(self, observations: Any) -> Array:
        return _rows(np.asarray(observations, self._dtype), self._shape)


class _OneHots:
    """Discrete or MultiDiscrete: a one-hot vector for each choice."""

    def __init__(self, space: Discrete | MultiDiscrete) -> None:
        self._shape = space.shape or ()
        sizes = np.ravel(space.n if isinstance(space, Discrete) else space.nvec)
        starts = np.ravel(space.start)
        if sizes.sum() > LARGEST:
            raise InputError(f"the observation space has {sizes.sum():,} choices; expected at most {LARGEST:,}.")
        self._entries = np.repeat(np.arange(len(sizes)), sizes)
        self._values = np.concatenate([np.arange(n) + start for n, start in zip(sizes, starts, strict=True)])
        self.low, self.high = np.zeros(len(self._values), np.uint8), np.ones(len(self._values), np.uint8)

    def __call__(self, observations: Any) -> Array:
        rows = _rows(np.asarray(observations), self._shape)
        hot = rows[..., self._entries] == self._values
        if np.count_nonzero(hot) != rows.size:
            raise InputError("an observation is a choice that its space does not have.")
        one_hots: Array = hot.view(np.uint8)
        return one_hots


def _rows(array: Array, shape: tuple[int, ...]) -> Array:
    """[..., *shape] gives [..., F]."""
    naxes = array.ndim - len(shape)
    if naxes < 0 or array.shape[naxes:] != shape:
        raise InputError(f"an observation has shape {array.shape}; expected {shape}, or a batch of such.")
    return array.reshape(*array.shape[:naxes], math.prod(shape))


def parts_of(space: gymnasium.Space[Any], path: Path = ()) -> Iterator[tuple[Path, gymnasium.Space[Any]]]:
    """Yields the parts that are no Dict or Tuple themselves, in gymnasium's order, and how to get at each."""
    if isinstance(space, Dict | Tuple):
        items = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, part in items:
            yield from parts_of(part, (*path, key))
    else:
        yield path, space


def _leaf(space: gymnasium.Space[Any], path: Path) -> _Numbers | _OneHots:
    name = f"the observation space's part {'/'.join(map(str, path))}" if path else "the observation space"
    if isinstance(space, Discrete | MultiDiscrete):
        return _OneHots(space)
    if not isinstance(space, Box | MultiBinary):
        raise InputError(
            f"{name} is a {type(space).__name__}; expected Box, Discrete, MultiDiscrete or MultiBinary, or a Dict or "
            "Tuple of these."
        )
    assert space.dtype is not None
    if space.dtype.kind not in "biuf" or space.dtype.itemsize > 8:
        raise InputError(f"{name} is of type {space.dtype}; expected booleans, integers or floating point numbers.")
    if path and len(space.shape) == 3 and space.dtype == np.uint8:
        raise InputError(f"{name} is an image; in a Dict or Tuple, expected vectors (an image alone goes to cnn).")
    return _Numbers(space)


def _at(observations: Any, path: Path) -> Any:
    for key in path:
        observations = observations[key]
    return observations
