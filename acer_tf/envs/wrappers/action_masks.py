"""Masks of possible actions: as `action_masks()` gives them (sb3-contrib's convention) or `info["action_mask"]`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from acer_tf.envs.wrappers.base import Array, StepReturn, wrappers_of
from acer_tf.errors import InputError

MASKS = "action_mask"
"""Key of the infos: of gymnasium's Taxi, for instance."""
METHOD = "action_masks"
"""Method of environments that has no arguments and returns the mask of the present state."""


class ActionMasks(VectorWrapper[Array, Any, Array, Any, Array]):
    """Puts what the method of a user's own vector environments returns into their infos, as `action_mask`.

    The masks of episodes' last states are not known: when a step returns, the next episode has begun.
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
        return np.stack([np.ravel(mask) for mask in call(METHOD)])


def with_action_masks(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Wraps vector environments that have the method; returns others as they are."""
    call = getattr(env.unwrapped, "call", None)
    if call is None or any(isinstance(wrapper, ActionMasks) for wrapper in wrappers_of(env)):
        return env
    have_method = call("has_wrapper_attr", METHOD)  # no answers from those of Stable Baselines that cannot be asked
    return ActionMasks(env) if len(have_method) > 0 and all(have_method) else env


def map_masks(infos: dict[str, Any], transform: Callable[[Array], Array]) -> dict[str, Any]:
    """Returns infos with their masks transformed, those of episodes' last states included."""
    mapped = {**infos, MASKS: transform(infos[MASKS])}
    if MASKS in infos.get("final_info", ()):
        mapped["final_info"] = infos["final_info"] | {MASKS: transform(infos["final_info"][MASKS])}
    return mapped


def has_masks(infos: Mapping[str, Any], had_masks: bool) -> bool:
    """Returns whether infos hold masks.

    Args:
        infos: of a reset or step.
        had_masks: whether those of the first reset did.

    Raises:
        InputError: these do and those did not, or the other way round; what is possible would not be known everywhere.
    """
    if (MASKS in infos) != had_masks:
        here, there = ("no masks", "some") if had_masks else ("masks", "none")
        raise InputError(
            f"the environments give {here} of possible actions here, but gave {there} at their first reset; put "
            f"{MASKS} into the infos at every reset and step, or make action_masks False to ignore it."
        )
    return had_masks


def possible_actions(infos: Mapping[str, Any], nenvs: int, space: Space[Any]) -> NDArray[np.bool_]:
    """Returns the masks in the infos of a reset or step.

    Args:
        infos: hold `action_mask`.
        nenvs: number of environments, N.
        space: of one environment's actions.

    Returns:
        [N, A] bool, True for possible actions.

    Raises:
        InputError: the actions are not Discrete, an environment gives no mask, the masks have another shape, or one
            leaves no action possible.
    """
    if not isinstance(space, Discrete):
        raise InputError(f"the environments give action masks for {space}; make action_masks False to ignore them.")
    is_given = infos.get(f"_{MASKS}", True)  # where gymnasium collected the infos of single environments
    if not np.all(is_given):
        raise InputError(
            f"environment {int(np.argmin(is_given))} gives no action mask; expected one at every reset and step."
        )
    masks = np.asarray(infos[MASKS])
    if masks.shape != (nenvs, space.n):
        raise InputError(
            f"the action masks have shape {masks.shape}; expected {(nenvs, int(space.n))} (environments, actions)."
        )
    masks = masks.astype(np.bool_)
    if not (any_possible := masks.any(axis=1)).all():
        raise InputError(
            f"the action mask of environment {int(np.argmin(any_possible))} leaves no action possible; where none is, "
            "the episode must end, by terminated or by the truncated of a time limit."
        )
    return masks
