"""Published runs, read from the CSV files beside the experiments."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Experiment
from acer_tf.experiments.results import Returns
from acer_tf.plots.curves import ENOUGH_SEEDS
from acer_tf.plots.references import ReferenceLine, level
from acer_tf.plots.series import Table, grouped

COVERED = 0.95
"""Share of a part's end that a run has to reach, as no episode may have ended in its last steps."""


class ReferenceRun(NamedTuple):
    """A single published run, or the mean of several.

    Attributes:
        label: label of the reference.
        env: environment id.
        seed: seed as text; empty for a mean.
        returns: its curve; the episodes of a bin are 1 if their number is unknown, and seconds are nan.
    """

    label: str
    env: str
    seed: str
    returns: Returns


def read_reference_runs(experiment: Experiment) -> list[ReferenceRun]:
    """Reads the curves of all references.

    Raises:
        InputError: a file cannot be read, or lacks a column.
    """
    return [run for r in experiment.references if r.curves is not None for run in _read(r.label, r.curves)]


def to_draw(experiment: Experiment, runs: Sequence[ReferenceRun], ends: Mapping[str, float]) -> list[ReferenceLine]:
    """Returns the references to draw behind curves: means of reference runs with their spread, and levels.

    `ends` has the agent steps up to which references are drawn, by environment; other environments are left out.
    """
    found = []
    for label, env in dict.fromkeys((run.label, run.env) for run in runs):
        begun = [r for r in runs if (r.label, r.env) == (label, env) and r.returns.steps[0] <= ends.get(env, -math.inf)]
        if begun:
            found.append(_mean(label, env, begun, ends[env]))
    for reference in experiment.references:
        found += [level(env, reference.label, reference.numbers[env]) for env in ends if env in reference.numbers]
    return found


def reference_seeds(runs: Sequence[ReferenceRun], label: str, env: str, end: float) -> set[int]:
    """Returns the seeds of a reference's runs that extend to an agent step.

    Raises:
        InputError: a seed is not a whole number.
    """
    seeds = [r.seed for r in _whole(runs, label, env, end) if r.seed]
    try:
        return {int(float(seed)) for seed in seeds}  # other programs may write 20.0
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"the reference {label} has seeds that are not whole numbers; leave same_seeds out."
        ) from error


def reference_scores(
    runs: Sequence[ReferenceRun],
    label: str,
    env: str,
    begin: float,
    end: float,
    measure: Callable[[Returns, float, float], float] = Returns.score,
) -> NDArray[np.float64]:
    """Returns the scores in a range of agent steps, for a reference's runs that extend to its end."""
    scores = [measure(run.returns, begin, end) for run in _whole(runs, label, env, end)]
    return np.array([score for score in scores if not math.isnan(score)])


def reference_final(runs: Sequence[ReferenceRun], label: str, env: str) -> float:
    """Returns the mean score in the last tenth of a reference's longest runs, or nan without runs."""
    end = max((float(run.returns.steps[-1]) for run in runs if (run.label, run.env) == (label, env)), default=math.nan)
    scores = reference_scores(runs, label, env, 0.9 * end, end)
    return float(scores.mean()) if len(scores) else math.nan


def _whole(runs: Sequence[ReferenceRun], label: str, env: str, end: float) -> list[ReferenceRun]:
    return [r for r in runs if (r.label, r.env) == (label, env) and r.returns.steps[-1] >= COVERED * end]


def _read(label: str, path: Path) -> list[ReferenceRun]:
    table = Table(path, "curves with the columns environment, seed, steps, mean_return, episodes")
    steps, mean = table.series("steps", "mean_return")
    (episodes,) = table.numbers("episodes", empty="1")
    numbers = np.stack([steps, mean, episodes, np.full(len(steps), math.nan)])
    runs = grouped(*table.text("environment", "seed"))
    # The rows of a run may be in any order.
    found = {run: sorted(rows, key=steps.__getitem__) for run, rows in runs.items()}
    return [ReferenceRun(label, env, seed, Returns(*numbers[:, rows])) for (env, seed), rows in found.items()]


def _mean(label: str, env: str, runs: Sequence[ReferenceRun], end: float) -> ReferenceLine:
    """Averages the runs that reach each place up to `end`, with a band of one standard deviation for three or more."""
    curves = [run.returns for run in runs]
    x = np.unique(np.concatenate([curve.steps[curve.steps <= end] for curve in curves]))
    values = np.stack([np.interp(x, c.steps, c.mean, left=math.nan, right=math.nan) for c in curves])
    counts = (~np.isnan(values)).sum(axis=0)
    deviation = np.where(
        counts >= ENOUGH_SEEDS,
        np.nanstd(values, axis=0, ddof=0) * np.sqrt(counts / np.maximum(counts - 1, 1)),
        math.nan,
    )
    mean = np.nanmean(values, axis=0)
    return ReferenceLine(env, label, x, mean, (mean - deviation, mean + deviation))
