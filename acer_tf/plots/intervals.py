"""Interval estimates of final performance over runs (Agarwal et al. 2021, arXiv 2108.13264), computed by rliable."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.ids import atari_game, is_atari
from acer_tf.errors import InputError
from acer_tf.plots.groups import Run

LAST_EPISODES = 100
"""Number of episodes at the end of a run whose mean return is its score."""
REPETITIONS = 10_000
"""Bootstrap samples of an interval."""
AGGREGATES = ("IQM", "median", "mean")
INSTALL = 'pip install "rliable==1.2.0" "arch<8" "pandas<3"'


class Interval(NamedTuple):
    """An aggregate score over environments and seeds, with its 95 % bootstrap interval.

    Attributes:
        label: name of the setting.
        aggregate: one of `AGGREGATES`; IQM is the interquartile mean, that of the middle half of all scores.
        estimate: the aggregate of the scores.
        low: lower end of the interval.
        high: upper end.
    """

    label: str
    aggregate: str
    estimate: float
    low: float
    high: float


def score_matrices(runs: Sequence[Run]) -> dict[str, NDArray[np.float64]]:
    """Returns a matrix [seeds, environments] of scores per setting; Atari scores are human-normalised.

    Raises:
        InputError: not every setting has the same number of runs in every environment, a game has no human score, or
            raw returns of different environments would be mixed.
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
    """Estimates every aggregate of every setting, with stratified bootstrap intervals.

    Args:
        matrices: scores [seeds, environments] by setting.

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

    with _global_stream_seeded():
        estimates, limits = library.get_interval_estimates(matrices, aggregates, reps=REPETITIONS)
    return [
        Interval(setting, name, float(estimates[setting][i]), *map(float, limits[setting][:, i]))
        for i, name in enumerate(AGGREGATES)
        for setting in matrices
    ]


def unit_of(runs: Sequence[Run]) -> str:
    """Returns the unit of the scores in `score_matrices`, for labels."""
    return "human-normalised score" if _is_atari(runs[0].env) else "raw return"


@contextlib.contextmanager
def _global_stream_seeded() -> Iterator[None]:
    """Seeds numpy's global stream, from which rliable draws whatever `random_state` it gets, and restores it."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)


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
