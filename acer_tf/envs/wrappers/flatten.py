"""Turns other observations into arrays: choices become one-hot, parts are concatenated or, with images, packed."""

import functools
import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from acer_tf.envs.wrappers.base import Array, ObservationWrapper
from acer_tf.errors import InputError, type_in_words
from acer_tf.packing import Packed
from acer_tf.system.console import say

Path = tuple[Any, ...]

LARGEST = 2**20
"""Most entries in the one-hot vectors of an observation, or of one of its parts."""


class Flatten:
    """Flattens observations of a space, one or a batch, into the arrays that networks take.

    A Box stays as it is, or gets an axis if it has none. Everything else becomes a vector: Discrete and MultiDiscrete
    become one-hot, as uint8; MultiBinary stays as it is; the parts of a Dict or Tuple, nested or not, are concatenated.
    The entries are in the order of `gymnasium.spaces.flatten`; the dtype is the smallest that holds all parts. If there
    are images, [H, W, C] uint8, among the parts, all parts are packed into bytes, vectors as float32. Text in a Dict or
    Tuple is left out.

    Attributes:
        space: space of the flattened observations.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        """Plans the flattening of one space.

        Args:
            space: space of one observation.

        Raises:
            InputError: the space, or a part of it, cannot be flattened; the message says what was expected.
        """
        parts = dict(parts_of(space))
        self._leaves = [(path, _leaf(part, path)) for path, part in parts.items()]
        if not sum(leaf.low.size for _, leaf in self._leaves):
            raise InputError("the observation space is empty; expected at least one number.")
        if _is_array(space):
            self.space = space
        elif any(map(_is_image, parts.values())):
            self.space = self._packed_space(parts)
        else:
            self.space = self._joined_space()

    def __call__(self, observations: Any) -> Array:
        """Flattens an observation, or a batch of N as a vector environment returns it.

        Returns:
            [*space.shape] or [N, *space.shape], in the space's dtype.

        Raises:
            InputError: it is not in the space.
        """
        try:
            parts = [part_at(observations, path) for path, _ in self._leaves]
        except (KeyError, IndexError, TypeError) as error:
            raise InputError("an observation lacks a part of the observation space.") from error
        try:
            vectors = [leaf(part) for (_, leaf), part in zip(self._leaves, parts, strict=True)]
        except InputError:
            raise
        except (TypeError, ValueError) as error:  # a dict, text, or rows of different lengths
            raise InputError(f"an observation is not in the observation space: {error}.") from error
        if isinstance(self.space, Packed):
            return self.space.pack(vectors)
        joined = vectors[0] if len(vectors) == 1 else np.concatenate(vectors, axis=-1)
        return joined.reshape(*joined.shape[:-1], *self.space.shape)

    def _joined_space(self) -> Box:
        low = np.concatenate([leaf.low for _, leaf in self._leaves])
        high = np.concatenate([leaf.high for _, leaf in self._leaves])
        return Box(low, high, dtype=low.dtype.type)

    def _packed_space(self, parts: Mapping[Path, gymnasium.Space[Any]]) -> Packed:
        boxes: dict[str, Box] = {}
        for path, leaf in self._leaves:
            part, name = parts[path], path_name(path)
            if name in boxes:
                raise InputError(f"two parts of the observation space have the name {name}; rename one.")
            boxes[name] = part if _is_image(part) else Box(-np.inf, np.inf, leaf.low.shape, np.float32)
        return Packed(boxes)


class FlattenObservations(ObservationWrapper):
    """Flattens the observations of a vector environment, for all environments at once."""

    def __init__(self, env: VectorEnv[Any, Any, Array]) -> None:
        """Wraps a vector environment.

        Raises:
            InputError: see `Flatten`.
        """
        super().__init__(env)
        if texts := [path_name(path) for path, part in _leaves_of(env.single_observation_space) if _is_text(part)]:
            _say_once(f"observations: text is ignored ({', '.join(texts)})")
        self._flatten = Flatten(env.single_observation_space)
        self.single_observation_space = self._flatten.space
        self.observation_space = batch_space(self._flatten.space, env.num_envs)

    def observations(self, obs: Any) -> Array:
        """Returns [N, *space.shape]."""
        return self._flatten(obs)

    def final_observation(self, obs: Any) -> Array:
        """Returns [*space.shape]."""
        return self._flatten(obs)


def flattened(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Wraps an environment unless its observations are arrays with at least one axis.

    Raises:
        InputError: see `Flatten`.
    """
    return env if _is_array(env.single_observation_space) else FlattenObservations(env)


def _is_array(space: gymnasium.Space[Any]) -> TypeGuard[Box]:
    return isinstance(space, Box) and space.shape != ()


class _Numbers:
    """Flattens Box or MultiBinary: the numbers themselves, in one row."""

    def __init__(self, space: Box | MultiBinary) -> None:
        box = space if isinstance(space, Box) else Box(0, 1, space.shape, np.int8)
        self._shape, self._dtype = box.shape, box.dtype
        self.low, self.high = box.low.ravel(), box.high.ravel()

    def __call__(self, observations: Any) -> Array:
        array = np.asarray(observations)
        if array.dtype == self._dtype or self._dtype.kind == "f":
            return _rows(array.astype(self._dtype, copy=False), self._shape)
        with np.errstate(invalid="ignore"):
            converted = array.astype(self._dtype)
        if not np.array_equal(converted, array):
            raise InputError(
                f"an observation of type {array.dtype} has numbers that {self._dtype} cannot hold; expected what the "
                "environment returns, not scaled."
            )
        return _rows(converted, self._shape)


class OneHots:
    """Flattens Discrete or MultiDiscrete: a one-hot vector for each choice, concatenated.

    Attributes:
        entries: [F] int64, the choice to which each number of the vectors belongs.
        values: [F] int64, the value of that choice for which the number is 1.
    """

    def __init__(self, space: Discrete | MultiDiscrete) -> None:
        self._space = space
        self._shape = space.shape or ()
        sizes = np.ravel(space.n if isinstance(space, Discrete) else space.nvec)
        starts = np.ravel(space.start)
        if sizes.sum() > LARGEST:
            raise InputError(f"the observation space has {sizes.sum():,} choices; expected at most {LARGEST:,}.")
        self.entries = np.repeat(np.arange(len(sizes)), sizes)
        self.values = np.concatenate([np.arange(n) + start for n, start in zip(sizes, starts, strict=True)])
        self.low, self.high = np.zeros(len(self.values), np.uint8), np.ones(len(self.values), np.uint8)

    def __call__(self, observations: Any) -> Array:
        """Returns the vectors, [..., F] uint8, of choices [..., *shape]."""
        rows = _rows(np.asarray(observations), self._shape)
        hot = rows[..., self.entries] == self.values  # for each entry: does its choice have its value?
        if np.count_nonzero(hot) != rows.size:
            wrong = np.argwhere(hot.sum(axis=-1) != rows.shape[-1])[0].tolist()  # in a batch, the environment
            where, choice = f" of environment {wrong[0]}" if wrong else "", rows[tuple(wrong)].reshape(self._shape)
            raise InputError(
                f"the observation{where} is {choice.tolist()}, a choice that its space does not have; expected one of "
                f"{self._space}."
            )
        one_hots: Array = hot.view(np.uint8)
        return one_hots


def _rows(array: Array, shape: tuple[int, ...]) -> Array:
    """Reshapes [..., *shape] to [..., F]."""
    naxes = array.ndim - len(shape)
    if naxes < 0 or array.shape[naxes:] != shape:
        raise InputError(f"an observation has shape {array.shape}; expected {shape}, or a batch of these.")
    return array.reshape(*array.shape[:naxes], math.prod(shape))


def parts_of(space: gymnasium.Space[Any]) -> Iterator[tuple[Path, gymnasium.Space[Any]]]:
    """Yields the leaves of nested Dicts and Tuples in gymnasium's order, each with its path: keys and indices.

    Text in a Dict or Tuple is left out.
    """
    return ((path, part) for path, part in _leaves_of(space) if not path or not _is_text(part))


def _leaves_of(space: gymnasium.Space[Any], path: Path = ()) -> Iterator[tuple[Path, gymnasium.Space[Any]]]:
    if isinstance(space, Dict | Tuple):
        items = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, part in items:
            yield from _leaves_of(part, (*path, key))
    else:
        yield path, space


def part_at(observations: Any, path: Path) -> Any:
    """Returns the part of observations at a path of `parts_of`."""
    return functools.reduce(operator.getitem, path, observations)


def _is_text(space: gymnasium.Space[Any]) -> bool:
    """Returns whether the elements of a space are strings, as in gymnasium's Text or another package's space."""
    return space.dtype is not None and space.dtype.kind == "U"


def _is_image(space: gymnasium.Space[Any]) -> TypeGuard[Box]:
    return isinstance(space, Box) and len(space.shape) == 3 and space.dtype == np.uint8


def path_name(path: Path) -> str:
    """Returns the name of a part for messages."""
    return "/".join(map(str, path))


_say_once = functools.cache(say)


def _leaf(space: gymnasium.Space[Any], path: Path) -> _Numbers | OneHots:
    name = f"the observation space's part {path_name(path)}" if path else "the observation space"
    if isinstance(space, Discrete | MultiDiscrete):
        return OneHots(space)
    if not isinstance(space, Box | MultiBinary):
        raise InputError(
            f"{name} is {type_in_words(space)}; expected Box, Discrete, MultiDiscrete or MultiBinary, or a Dict or "
            "Tuple of these."
        )
    assert space.dtype is not None
    if space.dtype.kind not in "biuf" or space.dtype.itemsize > 8:
        raise InputError(f"{name} is of type {space.dtype}; expected booleans, integers or floating point numbers.")
    return _Numbers(space)
