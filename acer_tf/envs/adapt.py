"""Makes gymnasium vector environments of what users have: single environments, those of Stable Baselines."""

import re
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.envs.check import check_vec_env
from acer_tf.envs.vec_env import StableBaselinesEnv, VecEnv
from acer_tf.envs.vector import SerialEnvs
from acer_tf.envs.wrappers.action_masks import with_action_masks, with_mask_info
from acer_tf.errors import InputError

OTHER_ARGUMENTS = re.compile(r"reset\(\) got an unexpected keyword argument '(seed|options)'")
AnyEnv = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv


class CheckedReturns(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says what to change in a single environment whose `reset` or `step` is that of the old gym."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the environment.

        Raises:
            InputError: it takes other arguments, or returns anything but an observation and an info.
        """
        try:
            result = self.env.reset(seed=seed, options=options)
        except TypeError as error:
            if not OTHER_ARGUMENTS.search(str(error)):
                raise
            raise InputError(f"{error}; gymnasium's is reset(self, *, seed=None, options=None).") from error
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
            raise InputError(
                f"{self._name}.reset returned a {type(result).__name__} that is not (observation, info); the old gym's "
                "returned the observation alone, gymnasium's returns both."
            )
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Steps the environment.

        Raises:
            InputError: it returns other than five values.
        """
        result = self.env.step(action)
        if len(result) != 5:
            raise InputError(
                f"{self._name}.step returned {len(result)} values; gymnasium's returns (observation, reward, "
                "terminated, truncated, info), the old gym's had one done."
            )
        return result

    @property
    def _name(self) -> str:
        return type(self.env.unwrapped).__name__


def as_vector_env(env: AnyEnv) -> VectorEnv[Any, Any, Any]:
    """Makes a vector environment of a single one or of Stable Baselines'; returns a vector environment as it is.

    Raises:
        InputError: it is none of these, or ACER cannot act in it.
    """
    vector_env = _vector_env(env)
    check_vec_env(vector_env)
    return with_action_masks(vector_env)


def own_env(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any] | VecEnv:
    """Returns Stable Baselines' vector environment where there is one below the wrappers; any other as it is."""
    return env.unwrapped.venv if isinstance(env.unwrapped, StableBaselinesEnv) else env


def checked_env(env: Any) -> gymnasium.Env[Any, Any]:
    """Wraps a single environment so that methods of the old gym are told.

    Raises:
        InputError: it is none of gymnasium's.
    """
    if isinstance(env, gymnasium.Env):
        return CheckedReturns(env)
    kind = f"{type(env).__module__}.{type(env).__name__}"
    if isinstance(env, type):
        raise InputError(f"the environment is the class {env.__name__}; give an object of it: {env.__name__}().")
    if hasattr(env, "reset") and hasattr(env, "step"):
        raise InputError(
            f"the environment is a {kind}, which is no gymnasium.Env; derive it from that class, or wrap an "
            "environment of the old gym in shimmy.GymV21CompatibilityV0(env=env)."
        )
    raise InputError(
        f"the environment is a {type(env).__name__}; expected a gymnasium.vector.VectorEnv, a gymnasium.Env, or a "
        "VecEnv of Stable Baselines (to train in, an id will do, too)."
    )


def _vector_env(env: AnyEnv) -> VectorEnv[Any, Any, Any]:
    if isinstance(env, VectorEnv):
        return env
    if isinstance(env, VecEnv) and not isinstance(env, gymnasium.Env | type):
        return StableBaselinesEnv(env)
    single = with_mask_info(checked_env(env))
    return SerialEnvs([lambda: single])
