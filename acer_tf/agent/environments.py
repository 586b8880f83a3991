"""What users give as environment: a vector environment, a single one, or an id."""

from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.envs.make import make_training_env, stacked
from acer_tf.envs.reports import reports_episodes
from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.flatten import flattened
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import NormalizeObservations, NormalizeRewards, ScaleRewards, normalization_state
from acer_tf.envs.wrappers.normalize import reward_scale as scale_of
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import as_vector_env


def training_env(
    env: Any, normalize_observations: bool, normalize_rewards: bool, reward_scale: float, gamma: float
) -> FrameStack:
    """Returns the environment as the Runner takes it.

    Args:
        env: a vector environment with SAME_STEP autoreset, a single environment, or an id (of which one is made; Atari
            games get baselines' wrappers).
        normalize_observations: whether they are normalised.
        normalize_rewards: whether the agent's rewards are.
        reward_scale: what they are multiplied by, unless the environment does so already.
        gamma: discount factor, which the latter depends on.

    Raises:
        InputError: it is something else, or ACER cannot train on it.
    """
    if isinstance(env, str):
        return make_training_env(
            env,
            1,
            normalize_observations=normalize_observations,
            normalize_rewards=normalize_rewards,
            reward_scale=reward_scale,
            gamma=gamma,
        )
    if not isinstance(env, gymnasium.Env | VectorEnv):
        raise InputError(
            f"the environment is a {type(env).__name__}; expected a gymnasium.vector.VectorEnv, a gymnasium.Env, or an "
            "id."
        )
    vector_env = as_vector_env(env)
    if isinstance(vector_env, FrameStack) and vector_env.nstack > 1:
        if normalize_observations or normalize_rewards or reward_scale != 1:
            raise InputError(
                "stacked frames are not normalised; leave normalize_observations, normalize_rewards and reward_scale "
                "out."
            )
        return stacked(vector_env)
    while isinstance(vector_env, FrameStack | BoxActions):  # `stacked` puts them back, above what comes in between
        vector_env = vector_env.env
    if not reports_episodes(vector_env):
        vector_env = RecordEpisodeStatistics(vector_env)
    vector_env = flattened(vector_env)
    found = is_normalized(vector_env)
    if reward_scale != 1 and scale_of(vector_env) == 1:
        vector_env = ScaleRewards(vector_env, reward_scale)
    if normalize_observations and not found["normalize_observations"]:
        vector_env = NormalizeObservations(vector_env)
    if normalize_rewards and not found["normalize_rewards"]:
        vector_env = NormalizeRewards(vector_env, gamma)
    return stacked(vector_env)


def is_normalized(env: VectorEnv[Any, Any, Any]) -> dict[str, bool]:
    """Says, for `normalize_observations` and `normalize_rewards`, whether the environment does that."""
    statistics = normalization_state(env)
    return {"normalize_observations": "obs_mean" in statistics, "normalize_rewards": "return_mean" in statistics}


def brought_settings(env: VectorEnv[Any, Any, Any]) -> dict[str, bool | float]:
    """Returns the agent's arguments that an environment decides by the wrappers it has."""
    return {**is_normalized(env), "reward_scale": scale_of(env)}


def env_id(env: VectorEnv[Any, Any, Any]) -> str | None:
    """Returns the id of the environments, None where they do not tell it."""
    base = env.unwrapped
    spec = base.envs[0].unwrapped.spec if isinstance(base, SyncVectorEnv) else base.spec
    return None if spec is None else spec.id
