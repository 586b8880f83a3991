"""Statistics of seeds: is there a difference, and is it small?"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError

CONFIDENCE = 0.9
"""Of the interval of two one-sided tests at a level of 5 % each."""

Scores = NDArray[np.float64]
"""[S], a score for each seed."""


class Difference(NamedTuple):
    """Difference of two means, with its interval of `CONFIDENCE` (Welch's: variances may differ).

    Attributes:
        estimate: of the first mean minus the second.
        low: lower end; nan with fewer than two seeds on either side.
        high: upper end, likewise.
    """

    estimate: float
    low: float
    high: float

    def is_within(self, margin: float) -> bool:
        """Whether two one-sided tests (Schuirmann 1987) show that the difference is smaller than a margin."""
        return -margin < self.low and self.high < margin


def mann_whitney(first: Scores, second: Scores) -> float:
    """Returns the two-sided p-value of Mann and Whitney's test, 1 if all scores are equal.

    Raises:
        InputError: scipy is not installed.
    """
    if np.ptp(np.concatenate([first, second])) == 0:
        return 1.0
    return float(_scipy_stats().mannwhitneyu(first, second).pvalue)


def difference(first: Scores, second: Scores) -> Difference:
    """Compares the means of two groups of seeds.

    Raises:
        InputError: scipy is not installed.
    """
    estimate = float(first.mean() - second.mean())
    if min(len(first), len(second)) < 2:
        return Difference(estimate, math.nan, math.nan)
    if np.ptp(first) == np.ptp(second) == 0:
        return Difference(estimate, estimate, estimate)
    limits = _scipy_stats().ttest_ind(first, second, equal_var=False).confidence_interval(CONFIDENCE)
    return Difference(estimate, float(limits.low), float(limits.high))


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise InputError('statistics need scipy; install it with: pip install -e ".[plots]".') from error
    return stats
