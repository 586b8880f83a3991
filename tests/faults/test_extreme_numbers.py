"""Environments whose numbers are very large, of another type, or of another shape than they say."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from acer_tf.errors import InputError, NotFiniteError
from tests.small_agents import assert_same, everything, tiny


class Numbers(gymnasium.Env[Any, Any]):
    """Random observations, in steps of 1/256 or as bytes; action 1 gives the reward and action 0 its opposite."""

    action_space = Discrete(2)

    def __init__(
        self, dtype: Any, shape: tuple[int, ...] = (3,), given: tuple[int, ...] | None = None, reward: float = 1.0
    ) -> None:
        self.observation_space = Box(0, 255 if dtype == np.uint8 else 1, shape, dtype)
        self.given, self.reward = given or shape, reward

    def observe(self) -> Any:
        numbers = self.np_random.integers(0, 256, self.given)
        scale = 1 if self.observation_space.dtype == np.uint8 else 256
        return (numbers / scale).astype(self.observation_space.dtype)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self.observe(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return self.observe(), self.reward if action else -self.reward, self.t == 7, False, {}


def agent_for(policy: str = "mlp", dtype: Any = np.float32, **numbers: Any) -> Any:
    env = SyncVectorEnv([lambda: Numbers(dtype, **numbers)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    return tiny(policy, env, replay_ratio=1, **({} if policy == "mlp" else {"policy_kwargs": {}}))


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (1e38, "the loss is not finite, so the update was not made"),  # its square overflows float32
        (-1e30, "the loss is not finite, so the update was not made"),
        (1e39, "gave a reward that has .*1e.39, too large for float32"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_reward_that_overflows_is_told_and_nothing_is_learned_from_it(reward: float, message: str) -> None:
    agent = agent_for(reward=reward)
    before = everything(agent)
    with pytest.raises(NotFiniteError, match=message):
        agent.learn(100)
    for name, array in everything(agent).items():
        if name.startswith(("param/", "average/", "ms/")):
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_large_reward_that_does_not_overflow_is_learned_from() -> None:
    agent = agent_for(reward=1e18)
    before = everything(agent)
    agent.learn(100)
    for name, array in everything(agent).items():
        if name.startswith("param/"):
            assert np.isfinite(array).all() and (array != before[name]).any(), name


def test_observations_in_float64_are_cast_to_float32() -> None:
    single, double = agent_for(dtype=np.float32), agent_for(dtype=np.float64)
    for agent in (single, double):
        agent.learn(100)
    assert_same(single, double)
    assert all(array.dtype == np.float32 for name, array in everything(double).items() if name.startswith("param/"))


class Huge(Numbers):
    """Gives numbers that float32 does not hold after five steps."""

    def observe(self) -> Any:
        return super().observe() + (1e300 if self.t == 5 else 0)


@pytest.mark.parametrize("limit", [5, 100])
def test_an_observation_that_is_too_large_is_blamed_also_at_a_time_limit(limit: int) -> None:
    env = SyncVectorEnv([lambda: TimeLimit(Huge(np.float64), limit)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(
        NotFiniteError, match=r"environment 0 gave an observation that has 1e\+300, too large for float32"
    ):
        tiny(env=env).learn(100)


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (2, 2, 2, 2)])
def test_bytes_of_any_shape_are_flattened_for_a_network_without_convolutions(shape: tuple[int, ...]) -> None:
    agent = agent_for(dtype=np.uint8, shape=shape)
    agent.learn(20)
    assert agent.model.policy.params["pi/mlp_fc0/kernel"].shape[0] == np.prod(shape)
    actions, _ = agent.predict(np.zeros((5, *shape), np.uint8))
    assert actions.shape == (5,)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((7,), "is for images"), ((4, 5), "is for images"), ((5, 5, 3), r"cannot be built for .* shape \(5, 5, 3\)")],
)
def test_bytes_that_are_no_image_are_refused_by_a_network_for_images(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"network 'cnn' {message}"):
        agent_for("cnn", np.uint8, shape=shape)


@pytest.mark.parametrize("given", [(6,), (8,), (2, 7)])
def test_observations_of_another_shape_than_their_space_end_training(given: tuple[int, ...]) -> None:
    message = r"^one of the environments returned something that does not fit .* in Box\(0, 255, \(7,\), uint8\)"
    with pytest.raises(InputError, match=message):
        agent_for(dtype=np.uint8, shape=(7,), given=given).learn(20)
