"""The whole loop on a task whose values are known: reward 1 at each step, and a time limit after five."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.learning import learn
from acer_tf.logs.logger import Logger
from tests.agents import linear

GAMMA, LIMIT = 0.9, 5
OBS = np.eye(LIMIT, dtype=np.float32)


class Endless(gymnasium.Env[Any, Any]):
    """Each step gives 1; the observation is the time since the reset, one-hot, and starts over at five."""

    observation_space = Box(0, 1, (LIMIT,))

    def __init__(self, action_space: Any) -> None:
        self.action_space = action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.t = 0
        return OBS[0], {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return OBS[self.t % LIMIT], 1.0, False, self.t == LIMIT, {}


DEATH = np.array([sum(GAMMA**i for i in range(LIMIT - t)) for t in range(LIMIT)])
LIFE = np.full(LIMIT, 1 / (1 - GAMMA))


@pytest.mark.parametrize(
    ("bootstrap_truncated", "actions", "expected"),
    [(False, Discrete(2), DEATH), (True, Discrete(2), LIFE), (True, Box(-1, 1, (1,)), LIFE)],
)
def test_values_at_a_time_limit(bootstrap_truncated: bool, actions: Any, expected: Any) -> None:
    env = SyncVectorEnv([lambda: Endless(actions)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    model = learn(
        linear, env, seed=0, gamma=GAMMA, total_timesteps=4000, nsteps=5, lr=0.3, rprop_alpha=0.9, rprop_epsilon=1e-3,
        max_grad_norm=None, replay_ratio=1, replay_start=0, buffer_size=40, bootstrap_truncated=bootstrap_truncated,
        lrschedule="constant", logger=Logger(),
    )  # fmt: skip
    values = model.actor.values(OBS, model.initial_state(LIMIT))
    np.testing.assert_allclose(values, expected, rtol=0.1)
