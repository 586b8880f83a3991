import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from acer_tf.importers.objects import Inert
from acer_tf.importers.spaces import space


def described(name: str, **state: object) -> Inert:
    inert = Inert(f"gym.spaces.{name.lower()}.{name}", ())
    inert.state = state
    return inert


LOW = np.array([0, 1, 2], np.uint8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (described("Box", low=LOW, high=LOW + 3, shape=(3,), dtype=np.dtype("u1")), Box(LOW, LOW + 3, (3,), np.uint8)),
        (described("Discrete", n=5, np_random=Inert("numpy.random.x", ())), Discrete(5)),
        (described("MultiDiscrete", nvec=np.array([2, 3])), MultiDiscrete([2, 3])),
        (described("MultiBinary", n=4), MultiBinary(4)),
        (described("Tuple", spaces=[]), None),
        (described("Discrete", n="5"), None),
        (Inert("gym.spaces.discrete.Discrete"), None),
        ({"n": 3}, None),
    ],
)
def test_a_space_is_what_gymnasium_has_for_it(old: object, new: Space | None) -> None:
    assert space(old) == new


@pytest.mark.parametrize(
    "old",
    [
        described("Discrete", n=-1),
        described("Discrete", n=0),
        described("Box", low=np.zeros(2), high=np.zeros(3)),
        described("Box", low=np.zeros(2), high=np.array([np.nan, 1])),
        described("MultiBinary", n=-1),
    ],
)
def test_a_space_that_makes_no_sense_is_told(old: Inert) -> None:
    with pytest.raises(ValueError, match=f"its {old.short_name} space makes no sense"):
        space(old)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_number_is_no_bound(dtype: type) -> None:
    """gym's CartPole said so; gymnasium's says infinity."""
    high = np.array([4.8, np.finfo(dtype).max], dtype)
    found = space(described("Box", low=-high, high=high))
    assert found == Box(np.array([-4.8, -np.inf], dtype), np.array([4.8, np.inf], dtype), (2,), dtype)
