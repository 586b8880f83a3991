import itertools
import math
import sys

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.plots.statistics import (
    AGGREGATES,
    difference,
    improvement,
    interval,
    iqm,
    iqm_curve,
    mean_interval,
    permutation_test,
    profiles,
)

LOW = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
SCORES = np.round(np.random.default_rng(0).normal(0, 1, (5, 3)), 3)
RECORDED = {
    "IQM": (-0.17555555555555558, -0.6364694444444443, 0.24648888888888865),
    "median of environments": (-0.1814, -0.6466000000000001, 0.26),
    "mean": (-0.235, -0.6800700000000001, 0.19107000000000005),
}
"""Aggregates of `SCORES` and their intervals, as rliable 1.2.0 estimates them with 2,000 samples from the seed 0."""


@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_and_their_intervals_are_those_of_rliable(name: str) -> None:
    np.testing.assert_allclose(interval(AGGREGATES[name], SCORES), RECORDED[name], rtol=0, atol=1e-12)


def test_the_probability_of_improvement_is_that_of_rliable_with_ties_too() -> None:
    first = np.array([[1, 1, 3], [4, 0, 0], [3, 1, 2], [0, 4, 2.0]])
    second = np.array([[1, 4, 1], [1, 3, 3], [0, 0, 1], [4, 2, 3.0]])
    recorded = (0.4583333333333333, 0.23958333333333334, 0.6979166666666666)
    np.testing.assert_allclose(improvement(first, second), recorded, rtol=0, atol=1e-12)


def test_the_probability_of_improvement_of_groups_of_unequal_size() -> None:
    first = np.array([[0.004, 0.829], [0.241, 2.083], [1.82, 1.133], [-1.704, 0.552], [1.184, 1.504], [-0.118, 2.322]])
    second = np.array([[0.696, -1.184], [-0.662, -0.436], [-1.17, 1.739]])
    recorded = (0.7222222222222222, 0.4166666666666667, 1.0)
    np.testing.assert_allclose(improvement(first, second), recorded, rtol=0, atol=1e-12)


def test_a_curve_of_interquartile_means_is_that_of_rliable() -> None:
    values = [
        [[-1.32, -0.662, 0.935], [0.049, 2.002, 0.189]],
        [[-0.633, -0.378, -1.091], [-1.278, 0.63, 0.581]],
        [[1.295, -0.755, 1.689], [-0.287, 1.574, -0.433]],
        [[-0.735, 0.25, 1.031], [0.161, -0.586, -1.341]],
    ]
    band = iqm_curve(np.array(values), np.arange(3.0))
    assert band.x.tolist() == [0, 1, 2]
    np.testing.assert_allclose(band.estimate, [-0.4015, -0.021, 0.318], rtol=0, atol=1e-12)
    np.testing.assert_allclose(band.low, [-1.0065, -0.605, -0.762225], rtol=0, atol=1e-12)
    np.testing.assert_allclose(band.high, [0.3045, 0.783, 0.806], rtol=0, atol=1e-12)


def test_the_interquartile_mean_leaves_out_a_quarter_at_either_end() -> None:
    assert iqm(np.array([[9.0, 1.0], [2.0, -50.0]])) == 1.5
    assert iqm(np.array([[3.0], [1.0], [8.0]])) == 4  # of three scores there is no whole quarter


def test_the_interquartile_mean_of_what_is_not_known_is_not_known() -> None:
    assert np.isnan(iqm(np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])))


def test_a_profile_is_the_share_of_runs_above_each_score() -> None:
    found = profiles({"a": np.array([[0.0], [1.0], [2.0], [4.0]]), "b": np.array([[2.0], [2.0], [2.0], [3.0]])})
    x = found["a"].x
    assert (x[0], x[-1], len(x)) == (0, 4, 101)
    np.testing.assert_allclose(np.interp([0.0, 1.5, 3.9], x, found["a"].estimate), [0.75, 0.5, 0.25])
    np.testing.assert_allclose(np.interp([1.5, 3.5], x, found["b"].estimate), [1, 0])
    assert (found["a"].low <= found["a"].estimate).all() and (found["a"].estimate <= found["a"].high).all()
    assert (found["a"].low < found["a"].high).any()


def test_the_interval_of_a_mean_narrows_with_seeds() -> None:
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    mean, low, high = mean_interval(scores)
    half = 2.776445 * math.sqrt(2.5 / 5)  # t(0.975) with four degrees of freedom
    assert (mean, low, high) == pytest.approx((3, 3 - half, 3 + half), abs=1e-5)
    _, narrow, narrow_high = mean_interval(np.tile(scores, 10))
    assert low < narrow < 3 < narrow_high < high


def test_intervals_are_the_same_every_time_and_leave_the_global_stream_alone() -> None:
    np.random.seed(5)
    first = interval(AGGREGATES["mean"], SCORES)
    drawn = np.random.random()
    assert interval(AGGREGATES["mean"], SCORES) == first
    np.random.seed(5)
    assert np.random.random() == drawn


def test_two_seeds_have_no_interval() -> None:
    mean, low, high = mean_interval(np.array([1.0, 2.0]))
    assert mean == 1.5 and np.isnan(low) and np.isnan(high)
    band = iqm_curve(np.ones((2, 3, 4)), np.arange(4.0))
    assert band.estimate.tolist() == [1] * 4 and np.isnan(band.low).all() and np.isnan(band.high).all()


def test_improvement_is_the_mean_over_environments() -> None:
    low = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    first, second = np.stack([low + 10, low], axis=1), np.stack([low, low], axis=1)
    found = improvement(first, second)
    assert found.estimate == pytest.approx((1 + 0.5) / 2)
    assert 0.5 < found.low < 0.75 < found.high <= 1
    assert improvement(second, first).estimate == pytest.approx(0.25)


def test_of_separate_groups_two_of_all_252_arrangements_are_as_far_apart() -> None:
    low, high = LOW[:, None], LOW[:, None] + 10
    assert permutation_test(low, high) == permutation_test(high, low) == pytest.approx(2 / 252)
    assert permutation_test(np.tile(low, 2), np.tile(high, 2)) == pytest.approx(2 / 252**2)


def test_equal_scores_say_nothing() -> None:
    assert permutation_test(np.zeros((5, 2)), np.zeros((3, 2))) == 1


def test_the_permutation_test_is_that_of_all_arrangements_with_ties_and_groups_of_unequal_size() -> None:
    first, second = np.array([[1.0, 5], [2, 5], [2, 7]]), np.array([[2.0, 5], [0, 1], [1, 1], [0, 5]])
    observed = improvement(first, second).estimate
    columns = np.concatenate([first, second]).T
    shares = [[improvement_of(column, chosen) for chosen in itertools.combinations(range(7), 3)] for column in columns]
    sums = np.array([(a + b) / 2 for a, b in itertools.product(*shares)])
    expected = (abs(sums - 0.5) >= abs(observed - 0.5) - 1e-12).mean()
    assert permutation_test(first, second) == pytest.approx(expected)
    assert 0.01 < expected < 0.5


def improvement_of(scores: np.ndarray, chosen: tuple[int, ...]) -> float:
    first, second = scores[list(chosen)], np.delete(scores, chosen)
    return float(((first[:, None] > second) + 0.5 * (first[:, None] == second)).mean())


def test_thirty_seeds_are_exact_too() -> None:
    scores = np.arange(60.0)[:, None]
    assert permutation_test(scores[::2], scores[1::2]) == pytest.approx(0.8315004828724886)  # as scipy's exact method
    assert permutation_test(scores[:30], scores[30:]) == pytest.approx(2 / math.comb(60, 30))


def test_welchs_interval_of_a_difference() -> None:
    # Equal sizes and variances: 8 degrees of freedom, t(0.95) = 1.859548, standard error sqrt(2.5 / 5 + 2.5 / 5) = 1.
    found = difference(LOW + 0.5, LOW)
    assert found == pytest.approx((0.5, 0.5 - 1.859548, 0.5 + 1.859548), abs=1e-5)
    assert found.is_within(2.36) and not found.is_within(2.35)
    assert not difference(LOW - 0.5, LOW).is_within(2.35)


def test_a_number_without_noise_is_taken_as_exact() -> None:
    half = 2.131847 * math.sqrt(2.5 / 5)  # t(0.95) with four degrees of freedom
    assert difference(LOW, np.array([2.0]), is_exact=True) == pytest.approx((1, 1 - half, 1 + half), abs=1e-5)
    assert math.isnan(difference(LOW, np.array([2.0])).low), "one of several scores"


def test_a_difference_without_spread_and_one_without_enough_seeds() -> None:
    assert difference(np.full(3, 2.0), np.full(4, 1.0)) == (1, 1, 1)
    assert mean_interval(np.full(3, 2.0)) == (2, 2, 2)
    alone = difference(np.array([2.0]), LOW)
    assert alone.estimate == -1 and math.isnan(alone.low) and not alone.is_within(math.inf)


def test_without_scipy_one_sentence_tells_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    for estimate in (lambda: difference(LOW, LOW + 1), lambda: mean_interval(LOW)):
        with pytest.raises(InputError, match=r'statistics need scipy; .*pip install -e "\.\[plots\]"'):
            estimate()
