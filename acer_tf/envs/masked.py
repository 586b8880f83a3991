"""`MaskedCartPole-v1`: CartPole whose observations lack the velocities, so that a policy needs memory."""

from typing import Any

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box
from gymnasium.wrappers import TransformObservation

POSITIONS = [0, 2]
"""Indices of the cart's position and the pole's angle in CartPole's observation."""


def masked_cartpole(**kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Makes CartPole with the observations [cart's position, pole's angle]; arguments as of gymnasium's CartPole."""
    env = CartPoleEnv(**kwargs)
    whole = env.observation_space
    assert isinstance(whole, Box)
    space = Box(whole.low[POSITIONS], whole.high[POSITIONS], dtype=whole.dtype.type)
    return TransformObservation(env, lambda observation: observation[POSITIONS], space)


gymnasium.register("MaskedCartPole-v1", masked_cartpole, reward_threshold=475.0, max_episode_steps=500)
