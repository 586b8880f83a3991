import contextlib
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple

from acer_tf.envs.same_spaces import EnvSpaces, check_same_spaces
from acer_tf.errors import InputError

ACTIONS = Box(-1, 1, (3,))
SPACES = [
    (Dict(a=Discrete(3), b=Box(0, 1, (2,))), Dict(a=Discrete(3), b=Box(-5, np.inf, (2,))), True),
    (Tuple((Box(0, 1, (2,)), Discrete(2))), Tuple((Box(0, 2, (2,)), Discrete(2))), True),
    (Dict(a=Discrete(3), b=Box(0, 1, (2,))), Dict(a=Discrete(4), b=Box(0, 1, (2,))), False),
    (Dict(a=Discrete(3), b=Box(0, 1, (2,))), Dict(a=Discrete(3), c=Box(0, 1, (2,))), False),
    (Box(0, 1, (2,)), Box(0, 1, (2,), np.float64), False),
    (Box(0, 1, (2,)), Box(0, 1, (3,)), False),
    (Discrete(2), Box(0, 1, (2,)), False),
]


@pytest.mark.parametrize(("ours", "theirs", "is_alike"), SPACES)
def test_observations_may_differ_in_their_bounds_alone(ours: Any, theirs: Any, is_alike: bool) -> None:
    with contextlib.nullcontext() if is_alike else pytest.raises(InputError, match="observation space is"):
        check_same_spaces(EnvSpaces(ours, Discrete(2)), EnvSpaces(theirs, Discrete(2)))


def test_who_only_acts_may_see_any_float() -> None:
    ours, theirs = (EnvSpaces(Box(0, 1, (2,), dtype), Discrete(2)) for dtype in (np.float32, np.float64))
    check_same_spaces(ours, theirs, any_float=True)
    with pytest.raises(InputError, match="observation space is"):
        check_same_spaces(ours, theirs)
    with pytest.raises(InputError, match="observation space is"):
        check_same_spaces(ours, EnvSpaces(Box(0, 1, (2,), np.uint8), Discrete(2)), any_float=True)


def test_bounds_of_actions_matter() -> None:
    wider = Box(-2, 2, (3,))
    with pytest.raises(InputError, match="action space is"):
        check_same_spaces(EnvSpaces(Discrete(3), ACTIONS), EnvSpaces(Discrete(3), wider))
