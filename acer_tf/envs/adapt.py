"""Makes gymnasium vector environments from single ones, and from those of Stable Baselines and SuperSuit."""

from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.check import check_vec_env
from acer_tf.envs.returns import with_checked_returns
from acer_tf.envs.vec_env import StableBaselinesEnv, SuperSuitEnv, VecEnv
from acer_tf.envs.vector import AutoresetEnvs, SerialEnvs
from acer_tf.envs.wrappers.action_masks import with_action_masks
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError, type_in_words

AnyEnv = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv


def as_vector_env(env: AnyEnv) -> VectorEnv[Any, Any, Any]:
    """Makes a vector environment from a single one or Stable Baselines'; returns gymnasium's own as they are.

    Raises:
        InputError: it is none of these, or ACER cannot act in it.
    """
    vector_env = _vector_env(env)
    check_vec_env(vector_env)
    base = vector_env.unwrapped
    if isinstance(base, AutoresetEnvs):
        return vector_env
    if not isinstance(base, AtariPool | StableBaselinesEnv) and not isinstance(vector_env, FrameStack):
        vector_env = with_checked_returns(vector_env)
    return with_action_masks(vector_env)


def own_env(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any] | VecEnv:
    """Returns Stable Baselines' vector environment if there is one below the wrappers; any other as it is."""
    return env.unwrapped.venv if isinstance(env.unwrapped, StableBaselinesEnv) else env


def checked_env(env: Any) -> gymnasium.Env[Any, Any]:
    """Returns a single environment after checking it.

    Raises:
        InputError: it is not one of gymnasium's, or has no spaces.
    """
    if isinstance(env, gymnasium.Env):
        for space in ("observation_space", "action_space"):
            if not hasattr(env, space):
                raise InputError(
                    f"{type(env.unwrapped).__name__} has no {space}; set self.{space} in __init__, to one of "
                    "gymnasium.spaces."
                )
            if not isinstance(found := getattr(env, space), gymnasium.Space):
                raise InputError(
                    f"{type(env.unwrapped).__name__}.{space} is {found!r:.200}; expected one of gymnasium.spaces."
                )
        return env
    if isinstance(env, str):
        raise InputError(
            f"the environment is the id {env!r}; give environments: acer_tf.envs.make.make_vec_env({env!r})."
        )
    kind = f"{type(env).__module__}.{type(env).__name__}"
    if isinstance(env, type):
        raise InputError(f"the environment is the class {env.__name__}; give an object of it: {env.__name__}().")
    if hasattr(env, "reset") and hasattr(env, "step"):
        raise InputError(
            f"the environment is a {kind}, which is not a gymnasium.Env; derive it from that class, or wrap an "
            "environment of the old gym in shimmy.GymV21CompatibilityV0(env=env)."
        )
    raise InputError(
        f"the environment is {type_in_words(env)}; expected a gymnasium.vector.VectorEnv, a gymnasium.Env, or a "
        "VecEnv of Stable Baselines."
    )


def _vector_env(env: AnyEnv) -> VectorEnv[Any, Any, Any]:
    if isinstance(env, VectorEnv):
        return SuperSuitEnv(env) if type(env).__module__.startswith("supersuit.") else env  # type: ignore[arg-type]
    if isinstance(env, VecEnv) and not isinstance(env, gymnasium.Env | type):
        return StableBaselinesEnv(env)
    single = checked_env(env)
    return SerialEnvs([lambda: single])
