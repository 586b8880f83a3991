"""Translates between the user's observations and actions and those of the networks."""

import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Tuple
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.envs.same_spaces import EnvSpaces
from acer_tf.envs.wrappers.action_masks import MASKS, flat_mask, possible_actions
from acer_tf.envs.wrappers.box_actions import from_space, to_space
from acer_tf.envs.wrappers.flatten import Flatten
from acer_tf.envs.wrappers.joint_actions import Choices, Joint, from_choices, to_choices
from acer_tf.envs.wrappers.normalize import CLIP, normalized
from acer_tf.errors import InputError
from acer_tf.storage.arrays import finite_array, numeric_array

Array = NDArray[Any]


class Spaces:
    """The spaces of one environment, and the networks' counterparts.

    Attributes:
        observation_space: the user's.
        action_space: the user's.
        is_normalized: whether the networks take normalised observations.
        flatten: maps the user's observations to arrays.
        network_observations: space of the networks' inputs.
        network_actions: space of their actions: Discrete, or a Box [D] in units of half the range.
        dimensions: D; 0 for Discrete actions.
    """

    def __init__(
        self, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any], is_normalized: bool
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.is_normalized = is_normalized
        self.flatten = Flatten(observation_space)
        self.network_observations = self.flatten.space
        if is_normalized:
            self.network_observations = Box(-CLIP, CLIP, self.flatten.space.shape, np.float32)
        self.dimensions = 0
        self.network_actions: Box | Discrete
        if isinstance(action_space, Box):
            self.dimensions = math.prod(action_space.shape)
            self.network_actions = Box(-1, 1, (self.dimensions,), np.float32)
        elif isinstance(action_space, Choices):
            self.network_actions = Joint(action_space)
        else:
            assert isinstance(action_space, Discrete)
            self.network_actions = action_space

    @classmethod
    def of(cls, env: VectorEnv[Any, Any, Any], is_normalized: bool) -> "Spaces":
        """Returns the spaces of environments, without the wrappers that only training needs."""
        return cls(*EnvSpaces.of(env), is_normalized)

    def encode_observations(self, observation: Any, normalization: Mapping[str, Array]) -> tuple[Array, bool]:
        """Returns a batch for the networks, [N, ...], and whether it was a single observation (then N = 1).

        Raises:
            InputError: the observation is not in the space, or holds a number that is not finite.
        """
        is_pair = isinstance(observation, tuple) and len(observation) == 2 and isinstance(observation[1], dict)
        if is_pair and not isinstance(self.observation_space, Tuple):
            raise InputError("this is the return value of reset; write obs, info = env.reset() and give obs.")
        rows = self.flatten(observation)
        extra = rows.ndim - len(self.flatten.space.shape)
        if extra > 1 or rows.size == 0:
            raise InputError(
                f"the observation has shape {rows.shape}; expected {self.flatten.space.shape}, or a batch of these."
            )
        if rows.dtype.kind == "f":
            finite_array("the observation", rows, np.float32)
        if self.is_normalized:
            rows = normalized(rows, normalization["obs_mean"], normalization["obs_var"])
        return rows if extra else rows[np.newaxis], extra == 0

    def decode_actions(self, actions: Array) -> Array:
        """Returns the user's actions for the networks' [N] or [N, D]; a Box's actions are clipped to it."""
        if isinstance(self.action_space, Box):
            return to_space(actions, self.action_space)
        return to_choices(actions, self.action_space) if isinstance(self.action_space, Choices) else actions

    def encode_masks(self, masks: Any, nenvs: int) -> NDArray[np.bool_]:
        """Returns the networks' masks of possible actions, [N, A] bool, for the user's masks.

        Args:
            masks: as `ACER.predict` takes them.
            nenvs: number of observations, N.
        """
        if not isinstance(self.network_actions, Discrete):
            raise InputError(
                f"action masks are for discrete actions, but the actions are {self.action_space}; leave them out."
            )
        if isinstance(self.action_space, Choices) and isinstance(masks, tuple):
            masks = flat_mask(masks)  # for one observation, in the form that `MultiDiscrete.sample` takes
        elif isinstance(masks, np.ndarray) and masks.dtype == object:
            masks = list(map(flat_mask, masks))  # as gymnasium's own vector environments gather them
        rows = np.atleast_2d(numeric_array("an action mask", masks))
        return possible_actions({MASKS: rows}, nenvs, self.action_space)

    def encode_actions(self, actions: Any) -> Array:
        """Returns the networks' actions, [N] int64 or [N, D] float32, for the user's; it does not clip to a Box."""
        shape = self.action_space.shape or ()
        given = numeric_array("an action", actions)
        size = math.prod(shape)
        # Actions of one number may have any shape; for longer ones, the last axes are the space's, or one for all.
        if given.size == 0 or (size > 1 and given.shape[-len(shape) :] != shape and given.shape[-1:] != (size,)):
            raise InputError(f"the actions have shape {given.shape}; expected {shape}, or a batch of these.")
        given = given.reshape(-1, *shape)
        if isinstance(self.action_space, Box):
            return from_space(given, self.action_space)
        assert isinstance(self.network_actions, Discrete)
        if isinstance(self.action_space, Choices):
            try:
                return from_choices(given, self.action_space)
            except ValueError as error:
                raise InputError(f"an action is not in {self.action_space}.") from error
        if not np.isin(given, np.arange(self.network_actions.n)).all():
            raise InputError(f"an action is not in {self.action_space}.")
        return given.astype(np.int64)
