"""The environment that is inside the wrappers which training puts around it."""

from typing import Any

from gymnasium.vector import VectorEnv

from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.flatten import FlattenObservations
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import Normalizer, ScaleRewards


def users_env(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Returns the environment without what is only for training: with its own observations, rewards and actions."""
    while isinstance(env, BoxActions | FlattenObservations | Normalizer | ScaleRewards) or (
        isinstance(env, FrameStack) and env.nstack == 1
    ):
        env = env.env
    return env
