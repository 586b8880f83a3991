import json
from collections import OrderedDict
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Text, Tuple

from acer_tf.storage.space_json import MOST_PARTS, space_from_data, space_to_data
from tests.memory import at_most

SPACES: list[gymnasium.Space[Any]] = [
    Box(-np.inf, np.inf, (4,), np.float32),
    Box(np.array([-1, -np.inf, 0], np.float32), np.array([0.1, 3, np.inf], np.float32)),
    Box(np.array([[0.1, -0.3]]), np.array([[0.7, 1e300]]), dtype=np.float64),
    Box(0, 255, (84, 84, 4), np.uint8),
    Box(-(2**62), 2**62, (1,), np.int64),
    Box(0, 1, (), np.float64),
    Discrete(3, start=-1),
    Discrete(3, dtype=np.int32),
    MultiDiscrete([3, 2], dtype=np.uint8),
    MultiDiscrete([3, 2], start=[1, 0]),
    MultiDiscrete([[3, 2], [1, 1]]),
    MultiBinary(4),
    MultiBinary([2, 3]),
    Dict(OrderedDict(b=Discrete(2), a=Dict(c=Box(0, 0.3, (2,))))),
    Tuple([Discrete(2), MultiBinary(1)]),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_there_and_back(space: gymnasium.Space[Any]) -> None:
    data = json.loads(json.dumps(space_to_data(space), allow_nan=False))
    again = space_from_data(data)
    assert again == space and again.dtype == space.dtype
    assert space_to_data(again) == data
    if isinstance(space, Box) and isinstance(again, Box):
        np.testing.assert_array_equal(again.low, space.low)
        np.testing.assert_array_equal(again.high, space.high)
    if isinstance(space, Dict) and isinstance(again, Dict):
        assert list(again) == list(space), "the order decides how parts are joined"


def test_bounds_that_are_all_the_same_take_no_place() -> None:
    assert len(json.dumps(space_to_data(SPACES[3]))) < 100


def test_other_spaces_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="a Sequence cannot be written"):
        space_to_data(Sequence(Discrete(2)))


def test_of_text_is_written_that_it_is_text() -> None:
    assert space_to_data(Text(3)) == {"type": "Text"} and isinstance(space_from_data({"type": "Text"}), Text)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "Sequence"},
        {"type": "Box", "shape": [10**9], "dtype": "float32", "low": 0, "high": 1},
        {"type": "Box"},
    ],
)
def test_other_data(data: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError)):
        space_from_data(data)


HALF = {"type": "MultiBinary", "shape": [2**12, 2**11]}


@pytest.mark.parametrize(
    "data",
    [
        {"type": "Box", "shape": [2**13, 2**12], "dtype": "uint8", "low": 0, "high": 1},
        {"type": "Discrete", "n": 2**24 + 1, "start": 0},
        {"type": "Discrete", "n": 10**19, "start": 0},
        {"type": "MultiDiscrete", "nvec": [[2**62, 2**62]], "start": [[0, 0]]},
        {"type": "MultiBinary", "shape": [10**12]},
        {"type": "MultiBinary", "shape": [0, 10**12]},
        {"type": "Tuple", "parts": [HALF, HALF, {"type": "Discrete", "n": 1, "start": 0}]},
        {
            "type": "Dict",
            "parts": [["a", {"type": "MultiBinary", "shape": [10**12]}], ["b", HALF | {"shape": [-(10**12)]}]],
        },
    ],
)
def test_spaces_that_are_too_large_take_no_memory(data: dict[str, Any]) -> None:
    with at_most(1e6), pytest.raises(ValueError, match="numbers or choices; expected at most 16,777,216"):
        space_from_data(data)


def of_parts(number: int, part: dict[str, Any]) -> dict[str, Any]:
    """Half of them in a Dict, which are one part more."""
    half = [part] * (number // 2)
    return {"type": "Tuple", "parts": [*half, {"type": "Dict", "parts": [[str(i), p] for i, p in enumerate(half)]}]}


@pytest.mark.parametrize(
    "part", [{"type": "Text"}, {"type": "Tuple", "parts": []}, {"type": "MultiDiscrete", "nvec": []}]
)
def test_parts_that_hold_nothing_are_counted(part: dict[str, Any]) -> None:
    data = of_parts(MOST_PARTS, part)
    with at_most(2e6), pytest.raises(ValueError, match="a space has more than 10,000 parts"):
        space_from_data(data)


def test_the_most_parts() -> None:
    space = space_from_data(of_parts(MOST_PARTS - 2, {"type": "Tuple", "parts": []}))
    assert isinstance(space, Tuple) and len(space.spaces) == MOST_PARTS // 2


def test_the_largest_space() -> None:
    assert space_from_data({"type": "Tuple", "parts": [HALF, HALF]}) == Tuple([MultiBinary([2**12, 2**11])] * 2)


@pytest.mark.parametrize("dtype", ["U100000000", "V100000000", "f4,f4", "(100000000,)f4", "object"])
def test_types_of_any_size(dtype: str) -> None:
    with pytest.raises(ValueError, match="expected booleans, integers or floating point numbers"):
        space_from_data({"type": "Box", "shape": [2], "dtype": dtype, "low": 0, "high": 1})
