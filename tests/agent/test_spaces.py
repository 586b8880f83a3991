from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from acer_tf.agent.spaces import Spaces
from acer_tf.envs.wrappers.box_actions import to_space
from acer_tf.errors import InputError

CARTPOLE = Box(-np.inf, np.inf, (4,), np.float32)
ACTIONS = Box(np.array([[-1.0, 0.0]], np.float32), np.array([[3.0, 0.5]], np.float32))


def test_one_observation_is_a_batch_of_one() -> None:
    spaces = Spaces(CARTPOLE, Discrete(2), False)
    batch, is_single = spaces.encode_observations(np.ones(4), {})
    assert is_single and batch.shape == (1, 4) and batch.dtype == np.float32
    batch, is_single = spaces.encode_observations(np.ones((3, 4)), {})
    assert not is_single and batch.shape == (3, 4)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.ones(3), r"observation has shape \(3,\); expected \(4,\)"),
        (np.ones((2, 3, 4)), r"observation has shape \(2, 3, 4\); expected \(4,\), or a batch"),
        (np.ones((0, 4)), r"shape \(0, 4\)"),
        ((np.ones(4), {}), r"this is the return value of reset; write obs, info = env\.reset\(\) and give obs"),
    ],
)
def test_other_shapes(observation: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Spaces(CARTPOLE, Discrete(2), False).encode_observations(observation, {})


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite(number: float) -> None:
    spaces = Spaces(Box(-np.inf, np.inf, (2,), np.float32), Discrete(2), is_normalized=False)
    with pytest.raises(InputError, match="the observation holds a number that is not finite"):
        spaces.encode_observations(np.array([0, number], np.float32), {})


def test_numbers_too_large_for_the_networks() -> None:
    space = Box(-np.inf, np.inf, (2,), np.float64)
    moments = {"obs_mean": np.zeros(2), "obs_var": np.ones(2)}
    for is_normalized in (False, True):
        spaces = Spaces(space, Discrete(2), is_normalized)
        with pytest.raises(
            InputError, match=r"the observation holds a number .* expected finite numbers of type float32"
        ):
            spaces.encode_observations([0, 1e300], moments)
    batch, _ = spaces.encode_observations([0, 1e30], moments)
    np.testing.assert_array_equal(batch, [[0, 10]])


def test_choices_and_parts_are_flattened() -> None:
    spaces = Spaces(Dict(a=Discrete(3), b=Box(0, 1, (2,))), Discrete(2), False)
    batch, is_single = spaces.encode_observations({"a": 1, "b": [0.5, 0.25]}, {})
    assert is_single
    np.testing.assert_array_equal(batch, [[0, 1, 0, 0.5, 0.25]])
    batch, is_single = spaces.encode_observations({"a": [1, 2], "b": np.zeros((2, 2))}, {})
    assert not is_single and batch.shape == (2, 5)


def test_observations_are_normalised_and_clipped() -> None:
    spaces = Spaces(CARTPOLE, Discrete(2), True)
    moments = {"obs_mean": np.array([1.0, 0, 0, 0]), "obs_var": np.array([4.0, 1, 1, 1])}
    batch, _ = spaces.encode_observations(np.array([5, 0, 100, -1]), moments)
    np.testing.assert_allclose(batch, [[2, 0, 10, -1]], rtol=1e-6)
    assert batch.dtype == np.float32 and spaces.network_observations.contains(batch[0])


def test_actions_there_and_back() -> None:
    spaces = Spaces(CARTPOLE, ACTIONS, False)
    units = np.random.default_rng(0).uniform(-1, 1, (20, 2)).astype(np.float32)
    actions = spaces.decode_actions(units)
    assert actions.shape == (20, 1, 2)
    np.testing.assert_array_equal(actions, to_space(units, ACTIONS))
    np.testing.assert_allclose(spaces.encode_actions(actions), units, atol=1e-6)
    np.testing.assert_allclose(spaces.encode_actions([[3.0, 0.0]]), [[1, -1]], atol=1e-6)
    np.testing.assert_allclose(spaces.encode_actions(actions.reshape(20, 2)), units, atol=1e-6)
    with pytest.raises(InputError, match=r"actions have shape \(2, 20\); expected \(1, 2\), or a batch of these"):
        spaces.encode_actions(actions.reshape(20, 2).T)


@pytest.mark.parametrize("actions", [np.array([0, 1, 1]), np.array([[0], [1], [1]]), [0.0, 1.0, 1.0]])
def test_discrete_actions(actions: Any) -> None:
    given = Spaces(CARTPOLE, Discrete(2), False).encode_actions(actions)
    assert given.dtype == np.int64 and given.tolist() == [0, 1, 1]


@pytest.mark.parametrize("actions", [[2], [-1], [0.5], [np.nan]])
def test_actions_that_do_not_exist(actions: Any) -> None:
    with pytest.raises(InputError, match=r"an action is not in Discrete\(2\)"):
        Spaces(CARTPOLE, Discrete(2), False).encode_actions(actions)
