"""Numbers the joint actions of MultiDiscrete and MultiBinary spaces, so that a categorical policy can choose one."""

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from acer_tf.envs.wrappers.base import Array, StepReturn

LARGEST = 4096
"""Most joint actions that are enumerated."""

Choices = MultiDiscrete | MultiBinary


class Joint(Discrete):
    """The numbers of joint actions, from which the policy chooses; not an environment's own Discrete actions."""

    def __init__(self, space: Choices) -> None:
        super().__init__(number_of_actions(space))


class JointActions(VectorWrapper[Array, Array, Array, Any, Array]):
    """Takes the numbers of joint actions, [N] int64, in place of the actions; the last dimension varies fastest."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        space = env.single_action_space
        assert isinstance(space, Choices)
        self._space = space
        self.single_action_space = Joint(space)
        self.action_space = batch_space(self.single_action_space, env.num_envs)

    def step(self, actions: Array) -> StepReturn:
        """Steps the environments."""
        return self.env.step(to_choices(actions, self._space))


def number_of_actions(space: Choices) -> int:
    """Counts the joint actions of a space."""
    return int(np.prod(_sizes(space), dtype=object))


def number_of_choices(space: Choices) -> int:
    """Counts the choices of all dimensions of a space."""
    return sum(_sizes(space))


def to_choices(actions: Array, space: Choices) -> Array:
    """Returns the choices, [..., *space.shape] in the space's dtype, that make up joint actions [...] int64."""
    # The choices are the digits of the number in the mixed radix given by the sizes.
    choices: Array = np.stack(np.unravel_index(actions, _sizes(space)), axis=-1) + _starts(space)
    return choices.reshape(*actions.shape, *space.shape).astype(space.dtype)


def from_choices(choices: Array, space: Choices) -> Array:
    """Returns the joint actions, [N] int64, that consist of choices [N, *space.shape].

    Raises:
        ValueError: a choice is not in the space.
    """
    digits = choices.reshape(len(choices), -1) - _starts(space)
    if not np.array_equal(digits, digits.astype(np.int64)):
        raise ValueError("a choice is not a whole number")
    return np.asarray(np.ravel_multi_index(tuple(digits.astype(np.int64).T), _sizes(space)), np.int64)


def joint_masks(masks: Array, space: Choices) -> Array:
    """Returns which joint actions are possible, [N, A] bool.

    Args:
        masks: [N, number_of_choices(space)] bool, the masks of the dimensions one after the other.
        space: the action space.
    """
    joint = np.ones((len(masks), 1), np.bool_)  # a joint action is possible if all its choices are
    for part in np.split(masks, np.cumsum(_sizes(space))[:-1], axis=1):
        joint = (joint[:, :, np.newaxis] & part[:, np.newaxis]).reshape(len(masks), -1)
    return joint


def _sizes(space: Choices) -> tuple[int, ...]:
    if isinstance(space, MultiBinary):
        return (2,) * int(np.prod(space.shape))
    return tuple(int(n) for n in space.nvec.ravel())


def _starts(space: Choices) -> Any:
    return 0 if isinstance(space, MultiBinary) else space.start.ravel()
