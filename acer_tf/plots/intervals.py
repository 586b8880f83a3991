"""Interval estimates of what several runs reach (Agarwal et al. 2021, https://arxiv.org/abs/2108.13264), by rliable."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.ids import atari_game, is_atari
from acer_tf.errors import InputError
from acer_tf.plots.groups import Run

LAST_EPISODES = 100
"""A run's score is the mean return of so many episodes at its end."""
REPETITIONS = 10_000
AGGREGATES = ("IQM", "median", "mean")
COLUMNS = ("label", "aggregate", "estimate", "low", "high")
INSTALL = 'pip install "rliable==1.2.0" "arch<8" "pandas<3"'


class Interval(NamedTuple):
    """An aggregate score over environments and seeds, with its 95 % bootstrap interval.

    Attributes:
        label: the setting.
        aggregate: one of `AGGREGATES`; IQM is the mean of the middle half of all scores.
        estimate: the aggregate itself.
        low: lower end of the interval.
        high: upper end.
    """

    label: str
    aggregate: str
    estimate: float
    low: float
    high: float


def score_matrices(runs: Sequence[Run]) -> dict[str, NDArray[np.float64]]:
    """Returns a matrix [seeds, environments] of scores for each setting; Atari games' are human-normalised.

    Raises:
        InputError: settings have other environments or numbers of runs than others, a game has no human score, or
            scores in units of their own would be mixed.
    """
    envs = list(dict.fromkeys(run.env for run in runs))
    if len(envs) > 1 and not all(_is_atari(env) for env in envs):
        raise InputError(
            f"returns of {', '.join(envs)} are in units of their own; for several environments, --rliable takes Atari "
            "games only."
        )
    matrices = {}
    for setting in dict.fromkeys(run.setting for run in runs):
        columns = [[_score(run) for run in runs if (run.env, run.setting) == (env, setting)] for env in envs]
        matrices[setting] = columns
    counts = {len(column) for columns in matrices.values() for column in columns}
    if len(counts) > 1:
        found = [f"{s} {[len(c) for c in columns]}" for s, columns in matrices.items()]
        raise InputError(
            f"--rliable needs as many runs of every setting in every environment; runs in {', '.join(envs)}: "
            f"{'; '.join(found)}."
        )
    return {setting: np.array(columns).T for setting, columns in matrices.items()}


def intervals(matrices: dict[str, NDArray[np.float64]]) -> list[Interval]:
    """Estimates every aggregate of every setting.

    Raises:
        InputError: rliable cannot be imported.
    """
    try:
        from rliable import library, metrics
    except (ImportError, TypeError) as error:  # TypeError: from versions of arch and pandas that do not fit
        raise InputError(
            f"interval estimates need rliable, which cannot be imported ({error}); install it with: {INSTALL}."
        ) from error
    functions = (metrics.aggregate_iqm, metrics.aggregate_median, metrics.aggregate_mean)

    def aggregates(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([function(scores) for function in functions])

    np.random.seed(0)  # where rliable draws from
    estimates, limits = library.get_interval_estimates(matrices, aggregates, reps=REPETITIONS)
    return [
        Interval(setting, name, float(estimates[setting][i]), *map(float, limits[setting][:, i]))
        for i, name in enumerate(AGGREGATES)
        for setting in matrices
    ]


def write_intervals(path: Path, found: Sequence[Interval]) -> None:
    """Writes a row per interval; replaces an earlier file of intervals, and no other.

    Raises:
        InputError: the file exists and holds something else.
    """
    if path.exists() and not path.read_bytes().startswith(",".join(COLUMNS).encode()):
        raise InputError(f"{path} holds something else than intervals; choose another name.")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *found])


def draw_intervals(path: Path, found: Sequence[Interval], unit: str) -> None:
    """Draws a panel per aggregate as a PNG file; `unit` is that of the scores.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib; install it with: pip install matplotlib.") from error
    labels = list(dict.fromkeys(interval.label for interval in found))
    figure = Figure(figsize=(12, 1.5 + 0.5 * len(labels)), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(AGGREGATES), sharey=True), AGGREGATES, strict=True):
        for interval in found:
            if interval.aggregate == name:
                axes.barh(interval.label, interval.high - interval.low, left=interval.low, height=0.5, alpha=0.6)
                axes.plot([interval.estimate], [interval.label], "k|", markersize=16)
        axes.set(title=name, xlabel=unit)
        axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, format="png", dpi=120)


def unit_of(runs: Sequence[Run]) -> str:
    """Returns the unit of `score_matrices`."""
    return "human-normalised score" if _is_atari(runs[0].env) else "raw return"


def _score(run: Run) -> float:
    score = float(run.returns.returns[-LAST_EPISODES:].mean())
    if not _is_atari(run.env):
        return score
    normalized = human_normalized(atari_game(run.env), score)
    if normalized is None:
        raise InputError(f"no human score of {run.env} is known; leave it out of --rliable.")
    return normalized


def _is_atari(env: str) -> bool:
    return env in gymnasium.registry and is_atari(env)
