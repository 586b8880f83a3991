from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.envs.wrappers.box_actions import BoxActions, from_space, half_range, to_space

UNEQUAL = Box(np.array([-2, 0], np.float32), np.array([2, 10], np.float32))


class Recorder(VectorEnv[Any, Any, Any]):
    def __init__(self, space: Box) -> None:
        self.num_envs, self.single_action_space, self.action_space = 2, space, space
        self.single_observation_space = self.observation_space = Box(0, 1)
        self.taken: list[NDArray[Any]] = []

    def step(self, actions: Any) -> Any:
        self.taken.append(actions)
        return np.zeros((2, 1)), np.zeros(2), np.zeros(2, bool), np.zeros(2, bool), {}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ([0, 0], [0, 5]),
        ([-1, 1], [-2, 10]),
        ([0.5, -0.5], [1, 2.5]),
        ([7, -7], [2, 0]),
        ([-1.0001, 1e30], [-2, 10]),
    ],
)
def test_units_of_half_the_range_clipped(action: list[float], expected: list[float]) -> None:
    env = Recorder(UNEQUAL)
    BoxActions(env).step(np.array([action, action], np.float32))
    np.testing.assert_array_equal(env.taken[0], [expected, expected])
    assert env.taken[0].dtype == np.float32


def test_actions_with_axes_are_flat_outside() -> None:
    space = Box(-1, 3, (2, 3), np.float64)
    env = Recorder(space)
    wrapped = BoxActions(env)
    assert wrapped.single_action_space.shape == (6,)
    wrapped.step(np.arange(12, dtype=np.float32).reshape(2, 6) / 20)
    np.testing.assert_allclose(env.taken[0], 1 + 2 * np.arange(12).reshape(2, 2, 3) / 20)
    assert env.taken[0].dtype == np.float64


def test_results_are_in_the_space() -> None:
    space = Box(np.float32(-0.1), np.float32(0.7), (50,))
    actions = np.random.default_rng(0).normal(0, 2, (20, 50)).astype(np.float32)
    assert all(space.contains(action) for action in to_space(actions, space))


def test_there_and_back() -> None:
    units = np.random.default_rng(0).uniform(-1, 1, (4, 20, 2)).astype(np.float32)
    back = from_space(to_space(units, UNEQUAL), UNEQUAL)
    np.testing.assert_allclose(back, units, atol=1e-6)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(from_space(np.array([4, 10]), UNEQUAL), [2, 1])
    np.testing.assert_array_equal(half_range(UNEQUAL), [2, 5])
