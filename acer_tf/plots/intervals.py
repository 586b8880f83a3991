"""Estimates of performance over runs, with intervals (Agarwal et al. 2021, arXiv 2108.13264), computed by rliable."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.ids import atari_game
from acer_tf.errors import InputError
from acer_tf.plots.curves import ENOUGH_SEEDS, curve
from acer_tf.plots.groups import Run
from acer_tf.plots.sources import is_atari_id

LAST_EPISODES = 100
"""Number of episodes at the end of a run whose mean return is its score."""
REPETITIONS = 2_000
"""Bootstrap samples of an interval."""
AGGREGATES = ("IQM", "median", "mean")
INSTALL = 'pip install "rliable==1.2.0" "arch<8" "pandas<3"'

_PROFILE_POINTS = 101
_EFFICIENCY_POINTS = 20


class Interval(NamedTuple):
    """An aggregate score over environments and seeds, with its 95 % bootstrap interval.

    Attributes:
        label: name of the setting.
        aggregate: one of `AGGREGATES`; IQM is the interquartile mean, that of the middle half of all scores.
        estimate: the aggregate of the scores.
        low: lower end of the interval; nan with fewer than three runs per environment.
        high: upper end, likewise.
    """

    label: str
    aggregate: str
    estimate: float
    low: float
    high: float


class Band(NamedTuple):
    """Estimates at K places, with 95 % bootstrap intervals at each.

    Attributes:
        x: [K] float64, the places.
        estimate: [K] float64.
        low: [K] float64, lower ends; nan with fewer than three runs per environment.
        high: [K] float64, upper ends, likewise.
    """

    x: NDArray[np.float64]
    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def score_matrices(runs: Sequence[Run]) -> dict[str, NDArray[np.float64]]:
    """Returns a matrix [seeds, environments] of scores per setting; Atari scores are human-normalised.

    Raises:
        InputError: not every setting has the same number of runs in every environment, a game has no human score, or
            raw returns of different environments would be mixed.
    """
    return _arranged(runs, lambda run: normalized(run.env, run.series.values[-LAST_EPISODES:].mean()))


def intervals(matrices: Mapping[str, NDArray[np.float64]]) -> list[Interval]:
    """Estimates every aggregate of every setting, with stratified bootstrap intervals.

    Args:
        matrices: scores [seeds, environments] by setting.

    Raises:
        InputError: rliable cannot be imported.
    """
    with _rliable():
        from rliable import metrics
    functions = (metrics.aggregate_iqm, metrics.aggregate_median, metrics.aggregate_mean)

    def aggregates(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([function(scores) for function in functions])

    found = _estimated(matrices, aggregates, np.arange(3.0))
    return [
        Interval(setting, name, *(float(numbers[i]) for numbers in found[setting][1:]))
        for i, name in enumerate(AGGREGATES)
        for setting in matrices
    ]


def profiles(matrices: Mapping[str, NDArray[np.float64]]) -> dict[str, Band]:
    """Estimates each setting's performance profile: the share of runs whose score exceeds x.

    Args:
        matrices: scores [seeds, environments] by setting.

    Raises:
        InputError: rliable cannot be imported.
    """
    scores = np.concatenate([matrix.ravel() for matrix in matrices.values()])
    x = np.linspace(scores.min(), scores.max(), _PROFILE_POINTS)
    return _estimated(matrices, lambda scores: (scores[..., None] > x).mean(axis=(0, 1)), x)


def improvements(matrices: Mapping[str, NDArray[np.float64]]) -> dict[str, Band]:
    """Estimates the probability that a run of each other setting scores higher than one of the first, at a single x.

    Args:
        matrices: scores [seeds, environments] by setting.

    Raises:
        InputError: rliable cannot be imported.
    """
    first, *others = matrices
    pairs = {other: (matrices[other], matrices[first]) for other in others}
    return _estimated(pairs, _share_of_wins, np.zeros(1))


def sample_efficiency(runs: Sequence[Run]) -> dict[str, Band]:
    """Estimates each setting's interquartile mean over the part of the axis that all runs cover.

    Raises:
        InputError: as `score_matrices`, rliable cannot be imported, or runs have nothing in common.
    """
    width = max(run.series.x[-1] for run in runs) / _EFFICIENCY_POINTS
    curves = {id(run): curve(run.env, run.setting, run.series, width) for run in runs}
    start, end = max(c.x[0] for c in curves.values()), min(c.x[-1] for c in curves.values())
    if start > end:
        raise InputError("the runs have no steps in common; --rliable compares runs of similar length.")
    x = np.linspace(start, end, _EFFICIENCY_POINTS)
    values = _arranged(runs, lambda run: normalized(run.env, np.interp(x, curves[id(run)].x, curves[id(run)].mean)))
    return iqm_curves(values, x)


def iqm_curves(values: Mapping[str, NDArray[np.float64]], x: NDArray[np.float64]) -> dict[str, Band]:
    """Estimates each setting's interquartile mean at K places.

    Args:
        values: [seeds, environments, K] by setting.
        x: [K], the places.

    Raises:
        InputError: rliable cannot be imported.
    """
    with _rliable():
        from scipy.stats import trim_mean
    return _estimated(values, lambda scores: trim_mean(scores.reshape(-1, len(x)), 0.25, axis=0), x)


def unit_of(runs: Sequence[Run]) -> str:
    """Returns the unit of the scores in `score_matrices`, for labels."""
    return "human-normalised score" if is_atari_id(runs[0].env) else "raw return"


def normalized(env: str, score: Any) -> Any:
    """Returns human-normalised scores of an Atari game, raw ones of any other environment.

    Raises:
        InputError: the game has no human score.
    """
    if not is_atari_id(env):
        return score
    found = human_normalized(atari_game(env), score)
    if found is None:
        raise InputError(f"no human score of {env} is known; leave it out of --rliable.")
    return found


def _arranged(runs: Sequence[Run], value: Callable[[Run], Any]) -> dict[str, NDArray[np.float64]]:
    """Returns arrays [seeds, environments, ...] of a value of each run, by setting."""
    envs = list(dict.fromkeys(run.env for run in runs))
    if len(envs) > 1 and not all(is_atari_id(env) for env in envs):
        raise InputError(
            f"returns of {', '.join(envs)} are in units of their own; for several environments, --rliable takes Atari "
            "games only."
        )
    arranged = {}
    for setting in dict.fromkeys(run.setting for run in runs):
        arranged[setting] = [[value(run) for run in runs if (run.env, run.setting) == (env, setting)] for env in envs]
    counts = {len(column) for columns in arranged.values() for column in columns}
    if len(counts) > 1:
        found = [f"{s} {[len(c) for c in columns]}" for s, columns in arranged.items()]
        raise InputError(
            f"--rliable needs as many runs of every setting in every environment; runs in {', '.join(envs)}: "
            f"{'; '.join(found)}."
        )
    return {setting: np.swapaxes(np.array(columns), 0, 1) for setting, columns in arranged.items()}


def _estimated(
    scores: Mapping[str, Any], function: Callable[..., NDArray[np.float64]], x: NDArray[np.float64]
) -> dict[str, Band]:
    """Applies a function of scores [seeds, environments, ...] to each entry, with bootstrap intervals.

    Args:
        scores: an array by name, or a tuple of arrays, which are resampled independently.
        function: from an entry's arrays to [K] estimates.
        x: [K], the places of the estimates.
    """
    with _rliable():
        from rliable import library
    found = {}
    for name, entry in scores.items():
        arrays = (entry,) if isinstance(entry, np.ndarray) else entry
        if min(len(array) for array in arrays) < ENOUGH_SEEDS:
            unknown = np.full(len(x), np.nan)
            found[name] = Band(x, function(*arrays), unknown, unknown)
            continue
        with _global_stream_seeded():
            estimates, limits = library.get_interval_estimates({name: entry}, function, reps=REPETITIONS)
        found[name] = Band(x, estimates[name], *limits[name])
    return found


def _share_of_wins(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns [1], the share of pairs of runs in an environment in which x is higher; a tie counts half."""
    return np.array([((x[:, None] > y) + 0.5 * (x[:, None] == y)).mean()])


@contextlib.contextmanager
def _rliable() -> Iterator[None]:
    """Turns a failing import of rliable into an `InputError`."""
    try:
        yield
    except (ImportError, TypeError) as error:  # TypeError: from versions of arch and pandas that do not fit
        raise InputError(
            f"interval estimates need rliable, which cannot be imported ({error}); install it with: {INSTALL}."
        ) from error


@contextlib.contextmanager
def _global_stream_seeded() -> Iterator[None]:
    """Seeds numpy's global stream, from which rliable draws whatever `random_state` it gets, and restores it."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)
