import math

import numpy as np
import pytest

from acer_tf.experiments.statistics import difference, improvement, mann_whitney, mean_interval

LOW = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def test_mann_whitney_of_separate_groups_is_two_of_all_252_arrangements() -> None:
    assert mann_whitney(LOW, LOW + 10) == pytest.approx(2 / 252)
    assert mann_whitney(LOW + 10, LOW) == pytest.approx(2 / 252)


def test_mann_whitney_of_equal_scores_is_one() -> None:
    assert mann_whitney(np.zeros(5), np.zeros(3)) == 1


def test_welchs_interval_of_a_difference() -> None:
    # Equal sizes and variances: 8 degrees of freedom, t(0.95) = 1.859548, standard error sqrt(2.5 / 5 + 2.5 / 5) = 1.
    found = difference(LOW + 0.5, LOW)
    assert found == pytest.approx((0.5, 0.5 - 1.859548, 0.5 + 1.859548), abs=1e-5)
    assert found.is_within(2.36) and not found.is_within(2.35)
    assert not difference(LOW - 0.5, LOW).is_within(2.35)


def test_a_difference_without_spread_and_one_without_enough_seeds() -> None:
    assert difference(np.full(3, 2.0), np.full(4, 1.0)) == (1, 1, 1)
    alone = difference(np.array([2.0]), LOW)
    assert alone.estimate == -1 and math.isnan(alone.low) and not alone.is_within(math.inf)


def test_an_interval_of_the_mean_needs_three_seeds() -> None:
    assert all(math.isnan(limit) for limit in mean_interval(LOW[:2]))
    low, high = mean_interval(LOW)
    assert 1 < low < 3 < high < 5


def test_improvement_is_the_mean_over_environments() -> None:
    first = np.stack([LOW + 10, LOW], axis=1)
    second = np.stack([LOW, LOW], axis=1)
    found = improvement(first, second)
    assert found.estimate[0] == pytest.approx((1 + 0.5) / 2)
    assert 0.5 < found.low[0] < 0.75 < found.high[0] <= 1
    assert improvement(second, first).estimate[0] == pytest.approx(0.25)
