"""The environment that is inside the wrappers which training puts around it."""

from typing import Any

from gymnasium.vector import SyncVectorEnv, VectorEnv

from acer_tf.envs.box_actions import BoxActions
from acer_tf.envs.flatten import FlattenObservations
from acer_tf.envs.frame_stack import FrameStack
from acer_tf.envs.normalize import Normalizer


def users_env(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Returns the environment without what is only for training: with its own observations, rewards and actions."""
    while isinstance(env, BoxActions | FlattenObservations | Normalizer) or (
        isinstance(env, FrameStack) and env.nstack == 1
    ):
        env = env.env
    return env


def share_episodes(one: VectorEnv[Any, Any, Any], other: VectorEnv[Any, Any, Any]) -> bool:
    """Says whether a step in the one is a step in the other: whether the same environment is inside of both."""
    return not _innermost(one).isdisjoint(_innermost(other))


def _innermost(env: VectorEnv[Any, Any, Any]) -> set[int]:
    inner = env.unwrapped
    return {id(single.unwrapped) for single in inner.envs} if isinstance(inner, SyncVectorEnv) else {id(inner)}
