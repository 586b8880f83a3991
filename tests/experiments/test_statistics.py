import math
import sys

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.statistics import difference, mann_whitney

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


def test_without_scipy_one_sentence_tells_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    for test in (mann_whitney, difference):
        with pytest.raises(InputError, match=r'statistics need scipy; .*pip install -e "\.\[plots\]"'):
            test(LOW, LOW + 1)
