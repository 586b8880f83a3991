"""Converts pickled spaces of gym to gymnasium."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from acer_tf.importers.objects import Inert


def space(described: Any) -> gym.Space[Any] | None:
    """Returns the space that a pickled object describes; None if it is not a Box, Discrete, or Multi- space.

    Raises:
        ValueError: the description of the space is inconsistent.
    """
    if not isinstance(described, Inert) or not isinstance(described.state, dict):
        return None
    try:
        return _space(described.short_name, described.state)
    except (AssertionError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"its {described.short_name} space makes no sense") from error


def _space(name: str, state: dict[Any, Any]) -> gym.Space[Any] | None:
    match name, state:
        case "Box", {"low": np.ndarray() as low, "high": np.ndarray() as high}:
            return gym.spaces.Box(_unbounded(low), _unbounded(high), low.shape, low.dtype.type)
        case "Discrete", {"n": int() as n}:
            return gym.spaces.Discrete(n)
        case "MultiDiscrete", {"nvec": np.ndarray() as nvec}:
            return gym.spaces.MultiDiscrete(nvec)
        case "MultiBinary", {"n": int() as n}:
            return gym.spaces.MultiBinary(n)
    return None


def _unbounded(bound: NDArray[Any]) -> NDArray[Any]:
    """Replaces the largest finite number, with which gym's environments denoted no bound, by gymnasium's infinity."""
    if bound.dtype.kind != "f":
        return bound
    return np.where(np.abs(bound) == np.finfo(bound.dtype).max, np.copysign(np.inf, bound), bound).astype(bound.dtype)
