"""Statistics of scores over seeds and environments: Student's and bootstrap intervals, and exact tests."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import require
from acer_tf.plots.curves import ENOUGH_SEEDS, Floats

REPETITIONS = 2_000
"""Bootstrap samples for an interval."""
PERCENTILES = (2.5, 97.5)
PROFILE_POINTS = 101
CONFIDENCE = 0.95
"""Confidence of the interval of a mean."""
CONFIDENCE_OF_DIFFERENCE = 0.9
"""Confidence of the interval of two one-sided tests (Schuirmann 1987) at a level of 5 % each."""


class Interval(NamedTuple):
    """An estimate with its interval, whose ends are nan if there are too few seeds for one."""

    estimate: float
    low: float
    high: float

    def is_within(self, margin: float) -> bool:
        """Whether two one-sided tests show that the number's absolute value is below a margin."""
        return -margin < self.low and self.high < margin


class Band(NamedTuple):
    """Estimates at K places, each with its interval.

    Attributes:
        x: [K] float64, the places.
        estimate: [K] float64, the estimates.
        low: [K] float64, lower ends; nan with fewer than three seeds.
        high: [K] float64, upper ends; likewise.
    """

    x: Floats
    estimate: Floats
    low: Floats
    high: Floats


def iqm(scores: Floats) -> Floats:
    """Returns the interquartile mean (of the middle half of the scores) of [seeds, environments, ...] as [...].

    If a score is nan, so is the mean.
    """
    ordered = np.sort(scores.reshape(-1, *scores.shape[2:]), axis=0)
    cut = len(ordered) // 4
    is_known = ~np.isnan(ordered[-1])  # nan is sorted last
    return np.where(is_known, ordered[cut : len(ordered) - cut].mean(axis=0), np.nan)


AGGREGATES: Mapping[str, Callable[[Floats], Floats]] = {
    "IQM": iqm,
    "median of environments": lambda scores: np.asarray(np.median(scores.mean(axis=0))),
    "mean": lambda scores: np.asarray(scores.mean(axis=0).mean()),
}
"""Functions of scores [seeds, environments]; median and mean are those of the environments' means."""


def interval(function: Callable[..., Floats], *groups: Floats) -> Interval:
    """Estimates a number with its 95 % bootstrap interval.

    Args:
        function: function of the groups, such as one of `AGGREGATES`.
        groups: scores [seeds, environments]; each group has its own seeds.
    """
    return Interval(*(float(number) for number in _bootstrap(function, *groups)))


def mean_interval(scores: Floats) -> Interval:
    """Estimates the mean of [seeds] scores, with Student's interval of `CONFIDENCE`, as the bootstrap's is too short.

    Raises:
        InputError: scipy is not installed.
    """
    if len(scores) < ENOUGH_SEEDS:
        return Interval(float(scores.mean()), math.nan, math.nan)
    return _student(scores, CONFIDENCE)


def improvement(first: Floats, second: Floats) -> Interval:
    """Estimates the probability that a run of the first group scores higher than a run of the second.

    Args:
        first: [S, E], scores of seeds in each environment.
        second: [S', E], likewise.

    Returns:
        The mean over environments, with its 95 % bootstrap interval; a tie counts half.
    """
    return interval(_share_of_wins, first, second)


def profiles(matrices: Mapping[str, Floats]) -> dict[str, Band]:
    """Estimates each setting's performance profile: the share of runs whose score exceeds x.

    Args:
        matrices: scores [seeds, environments] by setting.
    """
    scores = np.concatenate([matrix.ravel() for matrix in matrices.values()])
    x = np.linspace(scores.min(), scores.max(), PROFILE_POINTS)

    def share_above(scores: Floats) -> Floats:
        return np.asarray((scores[..., None] > x).mean(axis=(0, 1)))

    return {setting: Band(x, *_bootstrap(share_above, matrix)) for setting, matrix in matrices.items()}


def iqm_curve(values: Floats, x: Floats) -> Band:
    """Estimates the interquartile mean of [seeds, environments, K] values at K places."""
    return Band(x, *_bootstrap(iqm, values))


def difference(first: Floats, second: Floats, is_exact: bool = False) -> Interval:
    """Estimates the first mean of [seeds] scores minus the second, with Welch's interval of `CONFIDENCE_OF_DIFFERENCE`.

    The limits are nan if a side has a single score.

    Args:
        first: scores.
        second: scores.
        is_exact: whether the second side is a single number without noise.

    Raises:
        InputError: scipy is not installed.
    """
    estimate = float(first.mean() - second.mean())
    if len(first) < 2 or (len(second) < 2 and not is_exact):
        return Interval(estimate, math.nan, math.nan)
    if is_exact:
        return _student(first - second, CONFIDENCE_OF_DIFFERENCE)
    if np.ptp(first) == np.ptp(second) == 0:
        return Interval(estimate, estimate, estimate)
    limits = _scipy_stats().ttest_ind(first, second, equal_var=False).confidence_interval(CONFIDENCE_OF_DIFFERENCE)
    return Interval(estimate, float(limits.low), float(limits.high))


def _student(scores: Floats, confidence: float) -> Interval:
    mean = float(scores.mean())
    if np.ptp(scores) == 0:
        return Interval(mean, mean, mean)
    limits = _scipy_stats().ttest_1samp(scores, 0).confidence_interval(confidence)
    return Interval(mean, float(limits.low), float(limits.high))


def permutation_test(first: Floats, second: Floats) -> float:
    """Returns the exact two-sided p-value of `improvement` being one half, for permuted seeds in each environment.

    In a single environment, it is that of Mann and Whitney's test, including ties.

    Args:
        first: [S, E], scores of seeds in each environment.
        second: [S', E], likewise.
    """
    chances, observed, centre = np.ones(1), 0, 0
    for a, b in zip(first.T, second.T, strict=True):
        scores = np.concatenate([a, b])
        ordered = np.sort(scores)
        # Twice the mean rank of equal scores, which is a whole number.
        ranks = np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right") + 1
        chances = np.convolve(chances, _rank_sums(ranks, len(a)))
        observed += int(ranks[: len(a)].sum())
        centre += len(a) * (len(scores) + 1)
    distances = abs(np.arange(len(chances)) - centre)
    return float(chances[distances >= abs(observed - centre)].sum())


def _rank_sums(ranks: NDArray[np.integer[Any]], size: int) -> Floats:
    """Returns the probability of each sum of `size` ranks chosen at random."""
    ways = np.zeros((size + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return np.asarray(ways[size] / ways[size].sum())


def _scipy_stats() -> Any:
    require("scipy", "statistics need", "plots")
    from scipy import stats

    return stats


def _share_of_wins(first: Floats, second: Floats) -> Floats:
    return np.asarray(((first[:, None] > second) + 0.5 * (first[:, None] == second)).mean())


def _bootstrap(function: Callable[..., Floats], *groups: Floats) -> tuple[Floats, Floats, Floats]:
    """Applies a function to groups of scores [seeds, environments, ...]; returns the estimate and its interval's ends.

    Both ends are nan if a group has fewer than three seeds.
    """
    estimate = function(*groups)
    if min(len(group) for group in groups) < ENOUGH_SEEDS:
        unknown = np.full_like(estimate, math.nan)
        return estimate, unknown, unknown
    random = np.random.RandomState(0)  # its stream is the same in all versions of numpy, so that pages do not change
    samples = [function(*(_resampled(group, random) for group in groups)) for _ in range(REPETITIONS)]
    low, high = np.percentile(samples, PERCENTILES, axis=0)
    return estimate, low, high


def _resampled(scores: Floats, random: np.random.RandomState) -> Floats:
    """Draws as many seeds with replacement, independently for each environment and place."""
    return np.take_along_axis(scores, random.randint(len(scores), size=scores.shape), axis=0)
