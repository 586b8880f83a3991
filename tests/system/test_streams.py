import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.system.streams import checked_seed, derived_seed, load_stream_state, stream_state


def test_derived_seeds_are_those_of_numpy_whatever_the_version() -> None:
    """Checkpoints count on them: a resumed run derives the seeds of an undisturbed one."""
    assert [derived_seed(0, 200), derived_seed(7, 0, 1)] == [2579919295, 2028854884]


def test_a_stream_goes_on_where_it_was_kept() -> None:
    rng, other = np.random.RandomState(3), np.random.RandomState(4)
    rng.normal(size=3)  # an odd number: one of the pair is cached
    kept = stream_state(rng)
    expected = rng.normal(size=2), rng.poisson(4, 5)
    load_stream_state(other, kept)
    np.testing.assert_array_equal(other.normal(size=2), expected[0])
    np.testing.assert_array_equal(other.poisson(4, 5), expected[1])


def test_seeds() -> None:
    assert checked_seed(np.uint32(2**32 - 1)) == 2**32 - 1 and type(checked_seed(np.int8(3))) is int
    assert checked_seed(None) != checked_seed(None)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "1"])
def test_seeds_that_cannot_work(seed: object) -> None:
    with pytest.raises(InputError, match="expected a whole number from 0 to 4294967295"):
        checked_seed(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("position", [-1, 625])
def test_a_position_outside_of_the_keys_changes_nothing(position: int) -> None:
    rng = np.random.RandomState(3)
    expected = np.random.RandomState(3).normal(size=2)
    with pytest.raises(InputError, match=f"at position {position}; expected 0 to 624"):
        load_stream_state(rng, stream_state(rng) | {"position": position})
    np.testing.assert_array_equal(rng.normal(size=2), expected)
