"""How probable actions are: what `action_probability` returns."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from acer_tf.agent.translation import Translation
from acer_tf.envs.wrappers.box_actions import half_range, to_space
from acer_tf.errors import InputError
from acer_tf.maths.continuous import log_density

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
    return to_space(mean, space), deviation.reshape(len(f), *space.shape) * half_range(space)


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
    density: Array = log_density(given.astype(np.float64), mean, np.log(deviation)).numpy()[:, np.newaxis]
    density = density - np.log(half_range(space)).sum()
    return density if logp else np.exp(density)


def _moments(f: Array, sigma: float | None, translation: Translation) -> tuple[Array, Array]:
    dimensions = translation.dimensions
    mean = f[:, :dimensions].astype(np.float64)
    if sigma is not None:
        return mean, np.full(mean.shape, sigma)
    return mean, np.exp(f[:, dimensions:].astype(np.float64))
