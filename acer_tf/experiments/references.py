"""Runs of others, read from the CSV files beside the experiments."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.experiments.experiment import Experiment
from acer_tf.experiments.experiment import Reference as Source
from acer_tf.experiments.results import Returns
from acer_tf.plots import references as drawn
from acer_tf.plots.sources import Table

COVERED = 0.95
"""Share of a part's end that a run has to reach; in its last steps no episode may have ended."""


class ReferenceRun(NamedTuple):
    """A curve of a single run, or of the mean of several, K bins.

    Attributes:
        label: of the reference.
        env: environment id.
        seed: as text; empty for a mean.
        steps: [K] float64, agent steps at the end of each bin.
        mean: [K] float64, mean raw return in it.
        episodes: [K] float64, the episodes that are averaged; 1 where their number is not known.
    """

    label: str
    env: str
    seed: str
    steps: NDArray[np.float64]
    mean: NDArray[np.float64]
    episodes: NDArray[np.float64]

    def score(self, begin: float, end: float) -> float:
        """Returns the mean raw return in a part of the run, in agent steps; nan if the run ends before."""
        if self.steps[-1] < COVERED * end:
            return math.nan
        return Returns(self.steps, self.mean, self.episodes, self.episodes).score(begin, end)


def read_runs(experiment: Experiment) -> list[ReferenceRun]:
    """Reads the curves of all references.

    Raises:
        InputError: a file cannot be read, or lacks a column.
    """
    return [run for source in experiment.references if source.curves is not None for run in _read(source)]


def to_draw(experiment: Experiment, runs: Sequence[ReferenceRun], ends: Mapping[str, float]) -> list[drawn.Reference]:
    """Returns what stands behind the curves of a plot: means of reference runs with their spread, and levels.

    Args:
        experiment: which has the levels.
        runs: of all references.
        ends: agent steps up to which references are drawn, by environment; other environments are left out.
    """
    found = []
    for label, env in dict.fromkeys((run.label, run.env) for run in runs):
        begun = [r for r in runs if (r.label, r.env) == (label, env) and r.steps[0] <= ends.get(env, -math.inf)]
        if begun:
            found.append(_mean(label, env, begun, ends[env]))
    unknown = np.full(1, np.nan)
    for source in experiment.references:
        for env in ends:
            if env in source.numbers:
                level = np.array([source.numbers[env]])
                found.append(drawn.Reference(env, source.label, np.empty(0), level, unknown, unknown))
    return found


def scores(runs: Sequence[ReferenceRun], label: str, env: str, begin: float, end: float) -> NDArray[np.float64]:
    """Returns the scores of those runs of a reference in an environment that go on to the end of a part.

    Args:
        runs: of all references.
        label: of the reference.
        env: environment id.
        begin: of the part, in agent steps.
        end: of the part.
    """
    found = [run.score(begin, end) for run in runs if (run.label, run.env) == (label, env)]
    return np.array([score for score in found if not math.isnan(score)])


def _read(source: Source) -> list[ReferenceRun]:
    if source.curves is None:
        return []
    table = Table(source.curves, "curves with the columns environment, seed, steps, mean_return, episodes")
    steps, mean = table.numbers("steps", "mean_return")
    episodes = np.array([float(cell or 1) for cell in table.text("episodes")])
    keys = list(zip(table.text("environment"), table.text("seed"), strict=True))
    runs = []
    for env, seed in dict.fromkeys(keys):
        rows = [i for i, key in enumerate(keys) if key == (env, seed)]
        runs.append(ReferenceRun(source.label, env, seed, steps[rows], mean[rows], episodes[rows]))
    return runs


def _mean(label: str, env: str, runs: Sequence[ReferenceRun], end: float) -> drawn.Reference:
    """Averages the runs that reach each place up to `end`, with a band of one standard deviation from three runs on."""
    x = np.unique(np.concatenate([run.steps[run.steps <= end] for run in runs]))
    values = np.full((len(runs), len(x)), math.nan)
    for row, run in zip(values, runs, strict=True):
        reached = (x >= run.steps[0]) & (x <= run.steps[-1])
        row[reached] = np.interp(x[reached], run.steps, run.mean)
    counts = (~np.isnan(values)).sum(axis=0)
    deviation = np.where(
        counts >= 3, np.nanstd(values, axis=0, ddof=0) * np.sqrt(counts / np.maximum(counts - 1, 1)), math.nan
    )
    mean = np.nanmean(values, axis=0)
    return drawn.Reference(env, label, x, mean, mean - deviation, mean + deviation)
