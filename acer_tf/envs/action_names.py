"""Names of actions, for people who watch."""

import math
from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Discrete
from gymnasium.vector import SyncVectorEnv, VectorEnv

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.ids import env_id

NAMES = {
    "Acrobot-v1": ("torque -1", "no torque", "torque +1"),
    "CartPole-v1": ("left", "right"),
    "LunarLander-v3": ("nothing", "left engine", "main engine", "right engine"),
    "MaskedCartPole-v1": ("left", "right"),
    "MountainCar-v0": ("left", "nothing", "right"),
    "Pendulum-v1": ("torque",),
}
"""Of environments that do not name them themselves."""


def action_names(env: VectorEnv[Any, Any, Any]) -> Sequence[str]:
    """Returns a name for each action, or for each number of a continuous action; their indices where nothing has names.

    Atari games and MinAtar name their actions, MuJoCo's models their actuators.
    """
    space = env.single_action_space
    count = int(space.n) if isinstance(space, Discrete) else math.prod(space.shape or ())
    names = NAMES.get(env_id(env) or "") or _own_names(env.unwrapped)
    return names if len(names) == count else [str(i) for i in range(count)]


def _own_names(env: VectorEnv[Any, Any, Any]) -> Sequence[str]:
    if isinstance(env, AtariPool):
        return env.action_meanings
    if not isinstance(env, SyncVectorEnv):
        return ()
    single: Any = env.envs[0].unwrapped
    if hasattr(single, "get_action_meanings"):
        return [str(name) for name in single.get_action_meanings()]
    model: Any = getattr(single, "model", None)
    if hasattr(model, "actuator"):  # MuJoCo's
        return [model.actuator(i).name for i in range(model.nu)]
    return ()
