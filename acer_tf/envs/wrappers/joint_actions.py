"""Numbers the joint actions of MultiDiscrete and MultiBinary spaces, for a categorical policy to choose among."""

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from acer_tf.envs.wrappers.action_masks import MASKS, map_masks
from acer_tf.envs.wrappers.base import Array, StepReturn
from acer_tf.errors import InputError

LARGEST = 4096
"""Most joint actions that are enumerated."""

Choices = MultiDiscrete | MultiBinary


class JointActions(VectorWrapper[Array, Array, Array, Any, Array]):
    """Takes the numbers of joint actions, [N] int64, in place of the actions; joins the masks of the dimensions.

    The last dimension varies fastest.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        space = env.single_action_space
        assert isinstance(space, Choices)
        self._space = space
        self.single_action_space = Discrete(number_of_actions(space))
        self.action_space = batch_space(self.single_action_space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the environments."""
        obs, infos = self.env.reset(seed=seed, options=options)
        return obs, self._join(infos)

    def step(self, actions: Array) -> StepReturn:
        """Steps the environments."""
        obs, rewards, terminations, truncations, infos = self.env.step(to_choices(actions, self._space))
        return obs, rewards, terminations, truncations, self._join(infos)

    def _join(self, infos: dict[str, Any]) -> dict[str, Any]:
        return map_masks(infos, lambda masks: joint_masks(masks, self._space)) if MASKS in infos else infos


def number_of_actions(space: Choices) -> int:
    """Counts the joint actions of a space."""
    return int(np.prod(_sizes(space), dtype=object))


def to_choices(actions: Array, space: Choices) -> Array:
    """Returns the choices, [..., *space.shape] in the space's dtype, of joint actions [...] int64."""
    # The choices are the digits of the number, in the mixed radix of the sizes.
    choices: Array = np.stack(np.unravel_index(actions, _sizes(space)), axis=-1) + _starts(space)
    return choices.reshape(*actions.shape, *space.shape).astype(space.dtype)


def from_choices(choices: Array, space: Choices) -> Array:
    """Returns the joint actions [N] int64 of choices [N, *space.shape].

    Raises:
        ValueError: a choice is none of the space's.
    """
    digits = choices.reshape(len(choices), -1) - _starts(space)
    if not np.array_equal(digits, digits.astype(np.int64)):
        raise ValueError("a choice is not a whole number")
    return np.asarray(np.ravel_multi_index(tuple(digits.astype(np.int64).T), _sizes(space)), np.int64)


def joint_masks(masks: Array, space: Choices) -> Array:
    """Returns which joint actions are possible, [N, A] bool.

    Args:
        masks: [N, sum of the dimensions' choices], the masks of the dimensions one after the other.
        space: of the actions.

    Raises:
        InputError: the masks have another shape.
    """
    sizes = _sizes(space)
    masks = np.asarray(masks).astype(np.bool_)
    if masks.ndim != 2 or masks.shape[1] != sum(sizes):
        raise InputError(
            f"the action masks have shape {masks.shape}; expected {(len(masks), sum(sizes))} "
            "(environments, choices of all dimensions, one after the other)."
        )
    joint = np.ones((len(masks), 1), np.bool_)  # a joint action is possible if all of its choices are
    for part in np.split(masks, np.cumsum(sizes)[:-1], axis=1):
        joint = (joint[:, :, np.newaxis] & part[:, np.newaxis]).reshape(len(masks), -1)
    return joint


def _sizes(space: Choices) -> tuple[int, ...]:
    if isinstance(space, MultiBinary):
        return (2,) * int(np.prod(space.shape))
    return tuple(int(n) for n in space.nvec.ravel())


def _starts(space: Choices) -> Any:
    return 0 if isinstance(space, MultiBinary) else space.start.ravel()
