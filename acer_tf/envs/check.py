"""Checks that ACER can train in an environment; errors name what must change."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from acer_tf.envs.vector import SerialEnvs
from acer_tf.envs.wrappers.flatten import Flatten
from acer_tf.envs.wrappers.joint_actions import LARGEST, Choices, number_of_actions
from acer_tf.errors import InputError, type_in_words

LARGEST_ACTION = float(np.sqrt(np.finfo(np.float32).max))
"""Largest bound of continuous actions, 1.8e19: beyond it their square, a cost in many rewards, overflows float32."""


def check_vec_env(env: object) -> None:
    """Checks that an environment is a gymnasium vector environment with SAME_STEP autoreset and spaces ACER supports.

    Actions must be as `check_actions` expects; `Flatten` must accept the observations.

    Raises:
        InputError: it is anything else; the message says what was expected.
    """
    if isinstance(env, gymnasium.Env):
        raise InputError(
            "the environment is a single one; wrap it as "
            "gymnasium.vector.SyncVectorEnv([make_env], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)."
        )
    if not isinstance(env, VectorEnv):
        raise InputError(f"the environment is {type_in_words(env)}; expected a gymnasium.vector.VectorEnv.")
    mode = env.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.SAME_STEP:
        raise InputError(
            f"the vector environment's autoreset mode is {mode.name if isinstance(mode, AutoresetMode) else mode}; "
            "make it with gymnasium.vector.SyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.SAME_STEP), or with "
            'gymnasium.make_vec(id, n, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}); '
            "AutoresetMode is in gymnasium.vector, and a vector environment of your own names its mode in "
            'metadata["autoreset_mode"].'
        )
    single = env.unwrapped.envs if isinstance(env.unwrapped, SyncVectorEnv | SerialEnvs) else []
    if len({id(one.unwrapped) for one in single}) < len(single):
        raise InputError("the environments are one and the same object; make a new one for each.")
    check_actions(env.single_action_space)
    Flatten(env.single_observation_space)


def check_actions(space: gymnasium.Space[Any]) -> None:
    """Checks that policies can act in an action space: Discrete starting at 0, a finite Box, or few joint choices.

    Raises:
        InputError: it is anything else; the message says what was expected.
    """
    if isinstance(space, Box):
        _check_box_actions(space)
        return
    if isinstance(space, Choices):
        if (number := number_of_actions(space)) > LARGEST:
            raise InputError(
                f"the action space {space} has {number:,} joint actions; expected at most {LARGEST:,}, as each is an "
                "output of the network; choose some of them in a wrapper of the environment."
            )
        return
    if not isinstance(space, Discrete):
        raise InputError(
            f"the action space is {type_in_words(space)}; expected Discrete, MultiDiscrete, MultiBinary or Box; make "
            "it one of these in a gymnasium.ActionWrapper."
        )
    if space.start != 0:
        raise InputError(
            f"the actions start at {space.start}; expected Discrete with start 0, for instance by "
            f"gymnasium.wrappers.TransformAction(env, lambda action: action + {space.start}, Discrete({space.n}))."
        )


def _check_box_actions(space: Box) -> None:
    if not np.issubdtype(space.dtype, np.floating):
        rounded = f'lambda action: action.round().astype("{space.dtype}")'
        raise InputError(
            f"the actions are a Box of type {space.dtype}; expected floating point numbers, for instance by "
            f"gymnasium.wrappers.TransformAction(env, {rounded}, Box(low, high))."
        )
    if 0 in space.shape:
        raise InputError(f"the actions are a Box of shape {space.shape}; expected one number at least, such as (1,).")
    largest = np.abs([space.low, space.high]).max()
    if not largest <= LARGEST_ACTION:
        bounds = f" in effect: its bounds reach {largest:.2g}" if np.isfinite(largest) else ""
        raise InputError(
            f"the action space is an unbounded Box{bounds}; expected finite bounds, for instance by "
            "gymnasium.wrappers.TransformAction(env, lambda action: action, Box(low, high))."
        )
    if not (space.low < space.high).all():
        raise InputError(
            "the action space is a Box with an empty range; expected low < high in each dimension; leave the others "
            "out in a gymnasium.ActionWrapper."
        )
