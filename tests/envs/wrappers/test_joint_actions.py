import itertools
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import MultiBinary, MultiDiscrete
from hypothesis import given
from hypothesis import strategies as st

from acer_tf.envs.wrappers.joint_actions import from_choices, joint_masks, number_of_actions, to_choices

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def test_the_last_dimension_varies_fastest() -> None:
    space = MultiDiscrete([2, 3], start=[0, 5])
    expected = [[0, 5], [0, 6], [0, 7], [1, 5], [1, 6], [1, 7]]
    np.testing.assert_array_equal(to_choices(np.arange(6), space), expected)
    assert to_choices(np.arange(6), space).dtype == space.dtype


def test_switches_are_the_digits_of_the_number() -> None:
    np.testing.assert_array_equal(to_choices(np.array([5]), MultiBinary(4)), [[0, 1, 0, 1]])
    assert to_choices(np.arange(16), MultiBinary((2, 2))).shape == (16, 2, 2)


@given(SIZES, st.integers(0, 3))
def test_every_joint_action_is_in_the_space_and_comes_back(sizes: list[int], start: int) -> None:
    space = MultiDiscrete(sizes, start=[start] * len(sizes))
    number = number_of_actions(space)
    choices = to_choices(np.arange(number), space)
    assert len({tuple(row) for row in choices}) == number == np.prod(sizes)
    assert all(space.contains(row) for row in choices)
    np.testing.assert_array_equal(from_choices(choices, space), np.arange(number))


@pytest.mark.parametrize("choices", [[[2, 0]], [[0, -1]], [[0.5, 0]]])
def test_choices_outside_of_the_space_are_errors(choices: Any) -> None:
    with pytest.raises(ValueError):
        from_choices(np.array(choices), MultiDiscrete([2, 2]))


@given(SIZES, st.integers(0, 2**32 - 1))
def test_a_joint_action_is_possible_where_all_its_choices_are(sizes: list[int], seed: int) -> None:
    space = MultiDiscrete(sizes)
    parts = [np.random.default_rng([seed, i]).random((3, n)) < 0.6 for i, n in enumerate(sizes)]
    joint = joint_masks(np.concatenate(parts, axis=1), space)
    for env in range(3):
        expected = [all(part[env, choice] for part, choice in zip(parts, choices, strict=True))
                    for choices in itertools.product(*map(range, sizes))]  # fmt: skip
        np.testing.assert_array_equal(joint[env], expected)
