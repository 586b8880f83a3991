import numpy as np
import pytest

from benchmarks.loop import EvenUpdates


@pytest.mark.parametrize(
    ("mean", "expected"), [(4, [4, 4, 4, 4]), (0, [0] * 4), (0.5, [0, 1, 0, 1]), (1.5, [1, 2, 1, 2])]
)
def test_updates_are_even_and_other_draws_are_as_ever(mean: float, expected: list[int]) -> None:
    rng = EvenUpdates(3)
    assert [rng.poisson(mean) for _ in range(4)] == expected
    np.testing.assert_array_equal(rng.randint(0, 99, 5), np.random.RandomState(3).randint(0, 99, 5))
