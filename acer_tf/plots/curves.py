"""Learning curves: means of a series per bin of its axis, for one run or averaged over runs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.plots.series import Series

Floats = NDArray[np.float64]
ENOUGH_SEEDS = 3
"""Fewest runs with a band or an interval, which would say nothing about two."""


class Curve(NamedTuple):
    """A learning curve of K bins; bins without a value are left out.

    Attributes:
        env: environment id; empty if unknown.
        setting: name of the settings to which it belongs.
        x: [K] float64, the end of each bin, in agent steps of all environments (or frames, minutes, hours).
        mean: [K] float64, means of the values in each bin, such as raw returns.
        values: [K] int64, number of values in each bin, such as episodes.
        seeds: [K] int64, number of averaged runs.
        deviation: [K] float64, standard deviation of these runs' means (divided by runs - 1); nan for a single run.
    """

    env: str
    setting: str
    x: Floats
    mean: Floats
    values: NDArray[np.int64]
    seeds: NDArray[np.int64]
    deviation: Floats


def binned(series: Series, width: float | None, env: str = "", setting: str = "") -> Curve:
    """Averages a series in bins; a bin includes its end and excludes its start.

    The width is in the unit of the series' axis; None averages only values at the same place.

    Raises:
        InputError: the width is not positive.
    """
    if width is not None and not width > 0:
        raise InputError(f"a bin of the curve is {width:g} wide; expected more than 0.")
    # Without the last digits of the quotient, whose rounding may put the end of a bin beyond it.
    ends = series.x if width is None else np.ceil(series.x / width * (1 - 1e-12)) * width
    x, index = np.unique(ends, return_inverse=True)
    count = np.bincount(index)
    means = np.bincount(index, weights=series.values) / count
    return run_curve(env, setting, x, means, count)


def run_curve(env: str, setting: str, x: Floats, mean: Floats, values: NDArray[Any]) -> Curve:
    """Returns the curve of a single run."""
    return Curve(env, setting, x, mean, values.astype(np.int64), np.ones(len(x), np.int64), np.full(len(x), np.nan))


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Averages runs of one setting over the part of the axis that all cover, interpolating missing bins.

    Raises:
        InputError: one run ends before another one begins.
    """
    if len(curves) == 1:
        return curves[0]
    start, end = max(c.x[0] for c in curves), min(c.x[-1] for c in curves)
    x = np.unique(np.concatenate([c.x for c in curves]))
    x = x[(start <= x) & (x <= end)]
    if not len(x):
        name = f"{curves[0].env} {curves[0].setting}".strip()
        raise InputError(
            f"the runs of {name} have no steps in common; leave out the one that ended first, or draw it with a "
            "--label of its own."
        )
    means = np.stack([np.interp(x, c.x, c.mean) for c in curves])
    values = sum(np.where(np.isin(x, c.x), c.values[np.searchsorted(c.x, x)], 0) for c in curves)
    return Curve(
        env=curves[0].env,
        setting=curves[0].setting,
        x=x,
        mean=means.mean(axis=0),
        values=np.asarray(values),
        seeds=np.full(len(x), len(curves)),
        deviation=means.std(axis=0, ddof=1),
    )


def mean_or_each(curves: Sequence[Curve]) -> Sequence[Curve]:
    """Returns the mean of the curves, or each of them if they have no steps in common."""
    try:
        return [mean_curve(curves)]
    except InputError:
        return curves
