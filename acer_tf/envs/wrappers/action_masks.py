"""Masks of possible actions, from `action_masks()` (sb3-contrib's convention) or `info["action_mask"]`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from acer_tf.envs.wrappers.base import Array, StepReturn, wrappers_of
from acer_tf.envs.wrappers.joint_actions import Choices, joint_masks, number_of_choices
from acer_tf.errors import InputError

MASKS = "action_mask"
"""Key in the infos, for instance of gymnasium's Taxi."""
METHOD = "action_masks"
"""Method of environments that takes no arguments and returns the mask of the current state."""


class ActionMasks(VectorWrapper[Array, Any, Array, Any, Array]):
    """Puts the masks that a method of a user's own vector environments returns into their infos, as `action_mask`.

    The masks of episodes' last states are not known: by the time a step returns, the next episode has begun.
    """

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the environments."""
        obs, infos = self.env.reset(seed=seed, options=options)
        return obs, infos | {MASKS: self._masks()}

    def step(self, actions: Any) -> StepReturn:
        """Steps the environments."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        return obs, rewards, terminations, truncations, infos | {MASKS: self._masks()}

    def _masks(self) -> Array:
        call: Callable[[str], Iterable[Any]] = getattr(self.env.unwrapped, "call")  # noqa: B009 (not of every VectorEnv)
        return np.stack(list(map(flat_mask, call(METHOD))))


def with_action_masks(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Wraps vector environments that have the method; returns others as they are."""
    call = getattr(env.unwrapped, "call", None)
    if call is None or gives_no_last_masks(env):
        return env
    have_method = call("has_wrapper_attr", METHOD)  # empty for Stable Baselines' environments that cannot be reached
    return ActionMasks(env) if len(have_method) > 0 and all(have_method) else env


def gives_no_last_masks(env: VectorEnv[Any, Any, Any]) -> bool:
    """Returns whether the masks of episodes' last states are not known; see `ActionMasks`."""
    return any(isinstance(wrapper, ActionMasks) for wrapper in wrappers_of(env))


def flat_mask(mask: Any) -> Array:
    """Returns a mask as one array [A]; it may be a tuple with a mask per dimension, as in `MultiDiscrete.sample`."""
    return np.concatenate(list(map(flat_mask, mask))) if isinstance(mask, tuple) and mask else np.ravel(mask)


def has_masks(infos: Mapping[str, Any], had_masks: bool) -> bool:
    """Returns whether infos hold masks.

    Args:
        infos: infos of a reset or step.
        had_masks: whether those of the first reset held masks.

    Raises:
        InputError: only these or only those hold masks; possible actions would not be known everywhere.
    """
    if (MASKS in infos) != had_masks:
        here, there = ("no masks", "some") if had_masks else ("masks", "none")
        raise InputError(
            f"the environments give {here} of possible actions here, but gave {there} at their first reset; put "
            f"{MASKS} into the infos at every reset and step, or set action_masks to False to ignore it."
        )
    return had_masks


def possible_actions(infos: Mapping[str, Any], nenvs: int, space: Space[Any]) -> NDArray[np.bool_]:
    """Returns the masks in the infos of a reset or step, which hold `action_mask`; otherwise like `masks_of`.

    Raises:
        InputError: as for `masks_of`; or an environment gives no mask, or a mask leaves no action possible.
    """
    is_given = infos.get(f"_{MASKS}", True)  # present if gymnasium collected the infos of single environments
    if not np.all(is_given):
        raise InputError(
            f"environment {int(np.argmin(is_given))} gives no action mask; expected one at every reset and step."
        )
    masks = masks_of(infos[MASKS], nenvs, space)
    if not (any_possible := masks.any(axis=1)).all():
        raise InputError(
            f"the action mask of environment {int(np.argmin(any_possible))} leaves no action possible; if none is, "
            "the episode must end, either terminated or truncated by a time limit."
        )
    return masks


def masks_of(given: Sequence[Any], nenvs: int, space: Space[Any]) -> NDArray[np.bool_]:
    """Returns masks in the networks' form.

    Args:
        given: one mask for each environment; for MultiDiscrete and MultiBinary actions, the masks of the dimensions
            one after the other.
        nenvs: number of environments, N.
        space: action space of one environment, without the wrappers for training.

    Returns:
        [N, A] bool, True for possible actions; for MultiDiscrete and MultiBinary, joint actions.

    Raises:
        InputError: the actions have no masks, or these have another shape.
    """
    if isinstance(space, Discrete):
        expected, axis = int(space.n), "actions"
    elif isinstance(space, Choices):
        expected, axis = number_of_choices(space), "choices of all dimensions, one after the other"
    else:
        raise InputError(f"the environments give action masks for {space}; set action_masks to False to ignore them.")
    rows = list(map(flat_mask, given))
    sizes = {row.size for row in rows}
    if len(rows) != nenvs or sizes != {expected}:
        found = (
            f"shape {(len(rows), *sizes)}" if len(sizes) == 1 else f"{' and '.join(map(str, sorted(sizes)))} numbers"
        )
        raise InputError(f"the action masks have {found}; expected {(nenvs, expected)} (environments, {axis}).")
    masks = np.array(rows, np.bool_)
    return joint_masks(masks, space) if isinstance(space, Choices) else masks
