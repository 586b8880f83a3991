"""Aggregates of scores over environments and seeds, with stratified bootstrap intervals (Agarwal et al. 2021)."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.plots.curves import ENOUGH_SEEDS

Floats = NDArray[np.float64]

REPETITIONS = 2_000
"""Bootstrap samples of an interval."""
PERCENTILES = (2.5, 97.5)
PROFILE_POINTS = 101


class Interval(NamedTuple):
    """An estimate with its 95 % bootstrap interval.

    Attributes:
        estimate: of all scores.
        low: lower end of the interval; nan with fewer than three seeds.
        high: upper end, likewise.
    """

    estimate: float
    low: float
    high: float


class Band(NamedTuple):
    """Estimates at K places, with 95 % bootstrap intervals at each.

    Attributes:
        x: [K] float64, the places.
        estimate: [K] float64.
        low: [K] float64, lower ends; nan with fewer than three seeds.
        high: [K] float64, upper ends, likewise.
    """

    x: Floats
    estimate: Floats
    low: Floats
    high: Floats


def iqm(scores: Floats) -> Floats:
    """Returns the interquartile mean, that of the middle half of the scores [seeds, environments, ...], as [...]."""
    ordered = np.sort(scores.reshape(-1, *scores.shape[2:]), axis=0)
    cut = len(ordered) // 4
    return np.asarray(ordered[cut : len(ordered) - cut].mean(axis=0))


AGGREGATES: Mapping[str, Callable[[Floats], Floats]] = {
    "IQM": iqm,
    "median": lambda scores: np.asarray(np.median(scores.mean(axis=0))),
    "mean": lambda scores: np.asarray(scores.mean(axis=0).mean()),
}
"""Functions of scores [seeds, environments]; median and mean are those of the environments' means."""


def interval(function: Callable[..., Floats], *groups: Floats) -> Interval:
    """Estimates a number.

    Args:
        function: of the groups, such as one of `AGGREGATES`.
        groups: scores [seeds, environments], each group of seeds of its own.
    """
    return Interval(*(float(number) for number in _bootstrap(function, *groups)))


def mean_interval(scores: Floats) -> Interval:
    """Estimates the mean of [seeds] scores."""
    return interval(AGGREGATES["mean"], scores[:, None])


def improvement(first: Floats, second: Floats) -> Interval:
    """Estimates the probability that a run of the first group scores higher than one of the second.

    Args:
        first: [S, E], scores of seeds in each environment.
        second: [S', E], likewise.

    Returns:
        The mean over environments; a tie counts half.
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


def iqm_curves(values: Mapping[str, Floats], x: Floats) -> dict[str, Band]:
    """Estimates each setting's interquartile mean at K places.

    Args:
        values: [seeds, environments, K] by setting.
        x: [K], the places.
    """
    return {setting: Band(x, *_bootstrap(iqm, scores)) for setting, scores in values.items()}


def _share_of_wins(first: Floats, second: Floats) -> Floats:
    return np.asarray(((first[:, None] > second) + 0.5 * (first[:, None] == second)).mean())


def _bootstrap(function: Callable[..., Floats], *groups: Floats) -> tuple[Floats, Floats, Floats]:
    """Applies a function to groups of scores [seeds, environments, ...], and to samples of them.

    Returns:
        The estimate and the ends of its interval, of the shape of the function's result.
    """
    estimate = function(*groups)
    if min(len(group) for group in groups) < ENOUGH_SEEDS:
        unknown = np.full_like(estimate, math.nan)
        return estimate, unknown, unknown
    random = np.random.RandomState(0)  # whose stream no version of numpy changes, so that pages do not change either
    samples = [function(*(_resampled(group, random) for group in groups)) for _ in range(REPETITIONS)]
    low, high = np.percentile(samples, PERCENTILES, axis=0)
    return estimate, low, high


def _resampled(scores: Floats, random: np.random.RandomState) -> Floats:
    """Draws as many seeds with replacement, in each environment and place by itself."""
    return np.take_along_axis(scores, random.randint(len(scores), size=scores.shape), axis=0)
