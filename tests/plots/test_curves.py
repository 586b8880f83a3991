import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acer_tf.errors import InputError
from acer_tf.plots.curves import binned, mean_curve, mean_or_each
from tests.plots.samples import series


def test_curve_averages_each_bin_and_leaves_empty_ones_out() -> None:
    c = binned(series((1, 2), (10, 4), (11, 10), (35, 7)), 10, "A-v0", "mlp")
    assert (c.env, c.setting) == ("A-v0", "mlp")
    np.testing.assert_array_equal(c.x, [10, 20, 40])
    np.testing.assert_array_equal(c.mean, [3, 10, 7])
    np.testing.assert_array_equal(c.values, [2, 1, 1])


def test_without_bins_values_stay_where_they_are() -> None:
    c = binned(series((7, 2), (33, 4), (33, 8)), None, "A-v0", "mlp")
    np.testing.assert_array_equal(c.x, [7, 33])
    np.testing.assert_array_equal(c.mean, [2, 6])


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(-1000, 1000)), min_size=1, max_size=50),
    st.integers(1, 10**6),
)
def test_curve_counts_every_episode_once(episodes: list[tuple[int, int]], width: int) -> None:
    c = binned(series(*episodes), width)
    assert c.values.sum() == len(episodes)
    np.testing.assert_allclose((c.values * c.mean).sum(), sum(r for _, r in episodes), atol=1e-6)
    assert (np.diff(c.x) > 0).all()
    assert c.x[-1] >= max(steps for steps, _ in episodes) > c.x[-1] - width


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan")])
def test_a_bin_needs_a_width(width: float) -> None:
    with pytest.raises(InputError, match="expected more than 0"):
        binned(series((1, 2)), width)


def test_a_mean_over_runs_covers_what_all_have_and_fills_gaps() -> None:
    first = binned(series((10, 0), (20, 10), (20, 30), (40, 40)), 10, "A-v0", "x")
    second = binned(series((20, 10), (30, 20), (40, 20), (50, 99)), 10, "A-v0", "x")
    mean = mean_curve([first, second])
    assert (mean.env, mean.setting) == ("A-v0", "x")
    np.testing.assert_array_equal(mean.x, [20, 30, 40])
    np.testing.assert_array_equal(mean.mean, [15, 25, 30])  # the first has 20, (30), 40; the second 10, 20, 20
    np.testing.assert_array_equal(mean.values, [3, 1, 2])
    np.testing.assert_array_equal(mean.seeds, [2, 2, 2])
    np.testing.assert_allclose(mean.deviation, np.array([10, 10, 20]) / np.sqrt(2))


def test_a_single_run_is_its_own_mean() -> None:
    mean = mean_curve([binned(series((10, 0), (40, 10)), 10, "A-v0", "x")])
    np.testing.assert_array_equal(mean.x, [10, 40])
    np.testing.assert_array_equal(mean.seeds, [1, 1])
    assert np.isnan(mean.deviation).all()


def test_runs_without_common_steps_have_no_mean() -> None:
    early, late = (binned(series((steps, 1), (steps + 10, 2)), 10, "A-v0", "x") for steps in (10, 50))
    with pytest.raises(InputError, match="the runs of A-v0 x have no steps in common"):
        mean_curve([early, late])
    assert mean_or_each([early, late]) == [early, late]
    assert len(mean_or_each([early, early])) == 1


@pytest.mark.parametrize("end", [102_409, 1_003, 1_000_000])
def test_a_hundredth_of_a_run_makes_a_hundred_bins(end: int) -> None:
    """Of 102,409 steps the last lies, by rounding, beyond the end of the hundredth bin."""
    curve = binned(series((end - 1, 100), (end, 0)), end / 100, "A-v0", "x")
    np.testing.assert_allclose(curve.x, [end])
    np.testing.assert_array_equal(curve.mean, [50])
