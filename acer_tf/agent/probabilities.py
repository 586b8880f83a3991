"""How probable actions are: what `action_probability` returns."""

import math
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from acer_tf.agent.translation import Translation, half_range
from acer_tf.errors import InputError

Array = NDArray[Any]


def distribution(f: Array, sigma: float | None, translation: Translation) -> Array | tuple[Array, Array]:
    """Returns the probabilities [N, A], or mean and standard deviation [N, *action] in the environment's units.

    Args:
        f: the policy's statistics, [N, A], [N, D] or [N, 2D] float32.
        sigma: of a Gaussian policy, in units of half the range; None where it is learned and in `f`.
        translation: of the agent's spaces.
    """
    space = translation.action_space
    if not isinstance(space, Box):
        return f
    mean, deviation = _moments(f, sigma, translation)
    shape, unit = (len(f), *space.shape), half_range(space)
    return space.low + (mean.reshape(shape) + 1) * unit, deviation.reshape(shape) * unit


def likelihood(f: Array, sigma: float | None, translation: Translation, actions: Any, logp: bool) -> Array:
    """Returns the probability, or the density in the environment's units, of one action each; [N, 1].

    Clipping to the action space is not taken into account: an action at its border has the density of that point.

    Args:
        f: as of `distribution`, like the next two.
        sigma: of a Gaussian policy.
        translation: of the agent's spaces.
        actions: [N, ...], or one.
        logp: whether the logarithm is returned.

    Raises:
        InputError: the actions are not as many as the observations, or none of the space's.
    """
    given = translation.from_actions(actions)
    if len(given) != len(f):
        raise InputError(f"there are {len(given)} actions for {len(f)} observations; expected one for each.")
    space = translation.action_space
    if not isinstance(space, Box):
        with np.errstate(divide="ignore"):  # an impossible action
            chosen = np.take_along_axis(f, given[:, np.newaxis], axis=1)
            return np.log(chosen) if logp else chosen
    mean, deviation = _moments(f, sigma, translation)
    squares = np.square((given - mean) / deviation) / 2
    density: Array = -np.sum(squares + np.log(deviation) + 0.5 * math.log(2 * math.pi), axis=1, keepdims=True)
    density = density - np.log(half_range(space)).sum()
    return density if logp else np.exp(density)


def _moments(f: Array, sigma: float | None, translation: Translation) -> tuple[Array, Array]:
    dimensions = translation.dimensions
    mean = f[:, :dimensions].astype(np.float64)
    if sigma is not None:
        return mean, np.full(mean.shape, sigma)
    return mean, np.exp(f[:, dimensions:].astype(np.float64))
