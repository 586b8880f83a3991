"""Final performance of settings over environments and seeds: `acer plot --rliable`."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.ids import is_atari
from acer_tf.errors import InputError
from acer_tf.plots.curves import ENOUGH_SEEDS, binned
from acer_tf.plots.figures import AXIS_LABELS, draw_bands
from acer_tf.plots.runs import Run
from acer_tf.plots.series import Axis, Series
from acer_tf.plots.statistics import AGGREGATES, Band, Interval, improvement, interval, iqm_curve, profiles
from acer_tf.plots.style import GREY, Line, count_in_thousands, lines, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EFFICIENCY_POINTS = 20
_BAR = 0.5
_LONGEST = 30
"""Most characters in a line of a name."""


class Performance(NamedTuple):
    """Estimates of the performance of settings over environments and seeds.

    Attributes:
        unit: unit of the scores.
        intervals: estimates with intervals, by aggregate and setting.
        profiles: share of runs above a score, by setting.
        efficiency: interquartile mean during training, by setting.
        improvements: probability that each other setting is better than the first.
    """

    unit: str
    intervals: Mapping[str, Mapping[str, Interval]]
    profiles: Mapping[str, Band]
    efficiency: Mapping[str, Band]
    improvements: Mapping[str, Interval]


def performance(runs: Sequence[Run]) -> Performance:
    """Estimates the performance of the settings of some runs.

    Raises:
        InputError: as for `score_matrices` and `sample_efficiency`.
    """
    matrices = score_matrices(runs)
    first, *others = matrices
    return Performance(
        unit="human-normalised score" if is_atari(runs[0].env) else "raw return",
        intervals={
            name: {setting: interval(aggregate, scores) for setting, scores in matrices.items()}
            for name, aggregate in AGGREGATES.items()
        },
        profiles=profiles(matrices),
        efficiency=sample_efficiency(runs),
        improvements={other: improvement(matrices[other], matrices[first]) for other in others},
    )


def score_matrices(runs: Sequence[Run]) -> dict[str, NDArray[np.float64]]:
    """Returns a matrix [seeds, environments] of scores per setting; Atari scores are human-normalised.

    Raises:
        InputError: settings differ in their number of runs in an environment, a game has no human score, or raw returns
            of different environments would be mixed.
    """
    return _arranged(runs, lambda run: _normalized(run.env, run.series.last_mean))


def sample_efficiency(runs: Sequence[Run]) -> dict[str, Band]:
    """Estimates each setting's interquartile mean over the part of the axis that all runs cover.

    Raises:
        InputError: as for `score_matrices`, or the runs have no steps in common.
    """
    width = max(run.series.x[-1] for run in runs) / _EFFICIENCY_POINTS
    curves = [binned(run.series, width) for run in runs]
    start, end = max(c.x[0] for c in curves), min(c.x[-1] for c in curves)
    if start > end:
        raise InputError("the runs have no steps in common; --rliable compares runs of similar length.")
    x = np.linspace(start, end, _EFFICIENCY_POINTS)
    at_x = [run._replace(series=Series(x, np.interp(x, c.x, c.mean))) for run, c in zip(runs, curves, strict=True)]
    values = _arranged(at_x, lambda run: _normalized(run.env, run.series.values))
    return {setting: iqm_curve(scores, x) for setting, scores in values.items()}


def _normalized(env: str, score: Any) -> Any:
    """Returns human-normalised scores for an Atari game, raw scores for any other environment.

    Raises:
        InputError: the game has no human score.
    """
    if not is_atari(env):
        return score
    found = human_normalized(env, score)
    if found is None:
        raise InputError(f"no human score of {env} is known; leave it out of --rliable.")
    return found


def _arranged(runs: Sequence[Run], value: Callable[[Run], Any]) -> dict[str, NDArray[np.float64]]:
    """Returns arrays [seeds, environments, ...] with a value for each run, by setting."""
    envs = list(dict.fromkeys(run.env for run in runs))
    if len(envs) > 1 and not all(is_atari(env) for env in envs):
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


def figure_of_performance(found: Performance, axis: Axis) -> "Figure":
    """Draws a panel per aggregate, and below them the data behind the estimates; to be called inside `styled`."""
    settings = list(found.profiles)
    looks = lines(settings)
    bars = 0.9 + 0.3 * len(settings)
    figure = new_figure(9, bars + 3.6)
    top, bottom = figure.subfigures(2, 1, height_ratios=[bars, 3.2], squeeze=False).flat
    for panel, name in zip(top.subplots(1, len(AGGREGATES), sharey=True), AGGREGATES, strict=True):
        for setting, estimated in found.intervals[name].items():
            _draw_bar(panel, setting, estimated, looks[setting])
        panel.set(title=name, xlabel=found.unit)
        panel.margins(x=0.1)
    panels = bottom.subplots(1, 2 + bool(found.improvements))
    draw_bands(panels[0], found.profiles, looks)
    panels[0].set(title="performance profile", xlabel=f"{found.unit} τ", ylabel="share of runs above τ", ylim=(0, 1.02))
    draw_bands(panels[1], found.efficiency, looks)
    panels[1].set(title="sample efficiency", xlabel=AXIS_LABELS[axis], ylabel=f"IQM of the {found.unit}")
    if axis in ("steps", "frames"):
        count_in_thousands(panels[1].xaxis)
    if found.improvements:
        for setting, estimated in found.improvements.items():
            _draw_bar(panels[2], setting, estimated, looks[setting])
        panels[2].axvline(0.5, color=GREY, linewidth=1)
        better = textwrap.fill(f"P(score higher than that of {settings[0]})", _LONGEST)
        panels[2].set(title="probability of improvement", xlabel=better, xlim=(0, 1.02), ylim=(-1, len(settings) - 1))
    figure.suptitle(
        f"Bars and bands: 95 % stratified bootstrap intervals, from {ENOUGH_SEEDS} seeds per environment on.",
        fontsize="small",
        color=GREY,
    )
    return figure


def _draw_bar(panel: "Axes", label: str, found: Interval, look: Line) -> None:
    name = textwrap.fill(label, _LONGEST)
    panel.use_sticky_edges = False
    panel.grid(visible=False, axis="y")
    panel.barh(name, found.high - found.low, left=found.low, height=_BAR, color=look.color, alpha=0.5)
    panel.plot([found.estimate], [name], marker="|", color=look.color, markersize=14, markeredgewidth=2)
