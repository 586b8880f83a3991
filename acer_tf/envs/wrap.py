"""Wraps environments for training, and removes the wrappers that only training needs."""

from typing import Any

from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.config import Config, Preprocessing
from acer_tf.envs.adapt import AnyEnv, as_vector_env
from acer_tf.envs.conventions import reports_episodes
from acer_tf.envs.returns import CheckedReturns
from acer_tf.envs.vec_env import check_not_normalized
from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.flatten import FlattenObservations, flattened
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.joint_actions import Choices, JointActions
from acer_tf.envs.wrappers.normalize import (
    NormalizeObservations,
    NormalizeRewards,
    ScaleRewards,
    normalization_state,
)
from acer_tf.envs.wrappers.normalize import reward_scale as scale_of
from acer_tf.errors import InputError
from acer_tf.schema import Positive, validated

ONLY_FOR_TRAINING = (
    CheckedReturns,
    BoxActions,
    JointActions,
    FlattenObservations,
    NormalizeObservations,
    NormalizeRewards,
    ScaleRewards,
)


def training_env(
    env: AnyEnv,
    *,
    normalize_observations: bool = Preprocessing.normalize_observations,
    normalize_rewards: bool = Preprocessing.normalize_rewards,
    reward_scale: float = Preprocessing.reward_scale,
    gamma: float = Config.gamma,
) -> FrameStack:
    """Wraps an environment for the Runner; wrappers of this package that it already has are not added again.

    From the inside out: RecordEpisodeStatistics, FlattenObservations, ScaleRewards, NormalizeObservations,
    NormalizeRewards, BoxActions or JointActions, FrameStack. Recorded returns are therefore raw. Frames that are
    already stacked, such as those of Atari games, are left as they are.

    Args:
        env: a vector environment with SAME_STEP autoreset or from Stable Baselines, or a single environment.
        normalize_observations: normalises observations by their running mean and variance.
        normalize_rewards: divides rewards by the running standard deviation of the discounted return.
        reward_scale: multiplies rewards.
        gamma: discount factor of that return.

    Raises:
        InputError: ACER cannot train in it, or `reward_scale` is not a finite number > 0.
    """
    reward_scale = validated("reward_scale", reward_scale, Positive)
    vector_env = as_vector_env(env)
    if isinstance(vector_env, FrameStack) and vector_env.nstack > 1:
        if normalize_observations or normalize_rewards or reward_scale != 1:
            raise InputError(
                "stacked frames are not normalised, and Atari games have their own wrappers; leave "
                "normalize_observations, normalize_rewards and reward_scale out, which a preset may have set."
            )
        return stacked(vector_env)
    while isinstance(vector_env, FrameStack | BoxActions | JointActions):
        vector_env = vector_env.env  # `stacked` puts them back, above the wrappers added in between
    if not reports_episodes(vector_env):
        vector_env = RecordEpisodeStatistics(vector_env)
    vector_env = flattened(vector_env)
    check_not_normalized(vector_env, observations=normalize_observations, rewards=normalize_rewards)
    brought = brought_settings(vector_env)
    if reward_scale != 1 and brought["reward_scale"] == 1:
        vector_env = ScaleRewards(vector_env, reward_scale)
    if normalize_observations and not brought["normalize_observations"]:
        vector_env = NormalizeObservations(vector_env)
    if normalize_rewards and not brought["normalize_rewards"]:
        vector_env = NormalizeRewards(vector_env, gamma)
    return stacked(vector_env)


def stacked(env: VectorEnv[Any, Any, Any]) -> FrameStack:
    """Adds the wrappers that the Runner relies on: FlattenObservations, BoxActions or JointActions, and FrameStack.

    Raises:
        InputError: observations cannot be flattened, or frames are stacked on actions that lack their wrapper.
    """
    space = env.single_action_space
    wrapper = BoxActions if isinstance(space, Box) else JointActions if isinstance(space, Choices) else None
    if not isinstance(env, FrameStack):
        flat = flattened(env)
        return FrameStack(flat if wrapper is None else wrapper(flat), 1)
    if wrapper is not None and not isinstance(env.env, wrapper):
        raise InputError(
            f"frames are stacked on an environment with {type(space).__name__} actions; put {wrapper.__name__} "
            "between the two."
        )
    return env


def unwrap(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Removes the wrappers that only training needs, so that observations, rewards and actions are the environment's.

    Stacked frames stay stacked, as the agent observes them.
    """
    while isinstance(env, ONLY_FOR_TRAINING) or (isinstance(env, FrameStack) and env.nstack == 1):
        env = env.env
    return env


def is_normalized(env: VectorEnv[Any, Any, Any]) -> dict[str, bool]:
    """Returns whether the environment normalises observations and rewards, under the names of the arguments."""
    state = normalization_state(env)
    return {"normalize_observations": "obs_mean" in state, "normalize_rewards": "return_mean" in state}


def brought_settings(env: VectorEnv[Any, Any, Any]) -> dict[str, bool | float]:
    """Returns the arguments of `training_env` to which an environment's wrappers amount."""
    return {**is_normalized(env), "reward_scale": scale_of(env)}
