"""Learning curves: mean raw return per bin of agent steps, of one run and averaged over runs."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError

EPISODES = "episodes.csv"
COLUMNS = ("steps", "return")


class Returns(NamedTuple):
    """Returns of a run's whole episodes, in the order in which they ended.

    Attributes:
        steps: [E] float64, agent steps of all environments when the episode ended.
        returns: [E] float64, raw returns.
    """

    steps: NDArray[np.float64]
    returns: NDArray[np.float64]


class Curve(NamedTuple):
    """A learning curve of K bins; bins in which no episode ended are left out.

    Attributes:
        label: name of the curve.
        steps: [K] float64, the end of each bin, in agent steps of all environments.
        mean_return: [K] float64, raw.
        episodes: [K] int64, number of episodes in each bin.
        seeds: [K] int64, number of runs that are averaged.
        deviation: [K] float64, standard deviation of these runs' means (divided by runs - 1); nan for a single run.
    """

    label: str
    steps: NDArray[np.float64]
    mean_return: NDArray[np.float64]
    episodes: NDArray[np.int64]
    seeds: NDArray[np.int64]
    deviation: NDArray[np.float64]


def read_returns(source: Path) -> Returns:
    """Reads episodes.csv of a run folder, or any CSV file with columns steps and return; skips lines starting with #.

    Raises:
        InputError: the file cannot be read, lacks a column, has a cell that is not a number, or holds no episode.
    """
    path = source / EPISODES if source.is_dir() else source
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); expected a run folder or a CSV file.") from error
    rows = csv.DictReader(lines)
    if not set(COLUMNS) <= set(rows.fieldnames or ()):
        raise InputError(f"{path} lacks a column steps or return; expected a run folder or its {EPISODES}.")
    try:
        table = np.array([[float(row[column]) for column in COLUMNS] for row in rows]).reshape(-1, len(COLUMNS))
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} has a cell under steps or return that is no number: {error}.") from error
    if not len(table):
        raise InputError(f"{path} has no finished episode yet.")
    return Returns(table[:, 0], table[:, 1])


def curve(label: str, returns: Returns, width: float) -> Curve:
    """Averages returns in bins of `width` agent steps; a bin includes its end and excludes its start.

    Raises:
        InputError: the width is not positive.
    """
    if not width > 0:
        raise InputError(f"the width of a bin is {width:g} agent steps; expected more than 0.")
    bins, index = np.unique(np.ceil(returns.steps / width), return_inverse=True)
    episodes = np.bincount(index)
    means = np.bincount(index, weights=returns.returns) / episodes
    return Curve(label, bins * width, means, episodes, np.ones_like(episodes), np.full(len(bins), np.nan))


def mean_curve(label: str, curves: Sequence[Curve]) -> Curve:
    """Averages runs over the range of steps that all of them cover, each interpolated where it lacks a bin.

    Args:
        label: name of the result.
        curves: curves of single runs, with bins of the same width.

    Raises:
        InputError: one run ends before another one begins.
    """
    if len(curves) == 1:
        return curves[0]._replace(label=label)
    start, end = max(c.steps[0] for c in curves), min(c.steps[-1] for c in curves)
    steps = np.unique(np.concatenate([c.steps for c in curves]))
    steps = steps[(start <= steps) & (steps <= end)]
    if not len(steps):
        raise InputError(f"the runs of {label} have no steps in common; draw them with labels of their own.")
    means = np.stack([np.interp(steps, c.steps, c.mean_return) for c in curves])
    episodes = sum(np.where(np.isin(steps, c.steps), c.episodes[np.searchsorted(c.steps, steps)], 0) for c in curves)
    return Curve(
        label=label,
        steps=steps,
        mean_return=means.mean(axis=0),
        episodes=np.asarray(episodes),
        seeds=np.full(len(steps), len(curves)),
        deviation=means.std(axis=0, ddof=1),
    )
