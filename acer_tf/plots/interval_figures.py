"""Draws estimates of performance over runs: aggregates, profiles, sample efficiency, probability of improvement."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from acer_tf.plots.curves import ENOUGH_SEEDS
from acer_tf.plots.intervals import AGGREGATES, Band, Interval
from acer_tf.plots.style import GREY, Line, count_in_thousands, draw_legend, lines, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR = 0.5
_LONGEST = 30
"""Characters in a line of a name."""


class Performance(NamedTuple):
    """Estimates of the performance of settings over environments and seeds.

    Attributes:
        unit: of the scores.
        axis: label of the axis of sample efficiency.
        intervals: every aggregate of every setting.
        profiles: share of runs above a score, by setting.
        efficiency: interquartile mean over the course of training, by setting.
        improvements: probability of each other setting to be better than the first.
    """

    unit: str
    axis: str
    intervals: Sequence[Interval]
    profiles: Mapping[str, Band]
    efficiency: Mapping[str, Band]
    improvements: Mapping[str, Band]


def figure_of_performance(found: Performance) -> "Figure":
    """Draws a panel per aggregate, and below them what the estimates are made of; call it inside of `styled`."""
    settings = list(found.profiles)
    looks = lines(settings)
    bars = 0.9 + 0.3 * len(settings)
    figure = new_figure(9, bars + 3.6)
    top, bottom = figure.subfigures(2, 1, height_ratios=[bars, 3.2], squeeze=False).flat
    for panel, name in zip(top.subplots(1, len(AGGREGATES), sharey=True), AGGREGATES, strict=True):
        for i in found.intervals:
            if i.aggregate == name:
                _draw_bar(panel, i.label, i.estimate, i.low, i.high, looks[i.label])
        panel.set(title=name, xlabel=found.unit)
        panel.margins(x=0.1)
    panels = bottom.subplots(1, 2 + bool(found.improvements))
    _draw_bands(panels[0], found.profiles, looks)
    panels[0].set(title="performance profile", xlabel=f"{found.unit} τ", ylabel="share of runs above τ", ylim=(0, 1.02))
    _draw_bands(panels[1], found.efficiency, looks)
    panels[1].set(title="sample efficiency", xlabel=found.axis, ylabel=f"IQM of the {found.unit}")
    count_in_thousands(panels[1].xaxis)
    if found.improvements:
        for setting, band in found.improvements.items():
            _draw_bar(panels[2], setting, band.estimate[0], band.low[0], band.high[0], looks[setting])
        panels[2].axvline(0.5, color=GREY, linewidth=1)
        better = textwrap.fill(f"P(score higher than that of {settings[0]})", _LONGEST)
        panels[2].set(title="probability of improvement", xlabel=better, xlim=(0, 1.02), ylim=(-1, len(settings) - 1))
    figure.suptitle(
        f"Bars and bands: 95 % stratified bootstrap intervals, from {ENOUGH_SEEDS} seeds per environment on.",
        fontsize="small",
        color=GREY,
    )
    return figure


def figure_of_bands(panels: Mapping[str, Mapping[str, Band]], y_label: str) -> "Figure":
    """Draws estimates by setting, a panel for each label of an x axis; call it inside of `styled`."""
    settings = list(dict.fromkeys(setting for bands in panels.values() for setting in bands))
    looks = lines(settings)
    figure = new_figure(max(6.4, 4.5 * len(panels)), 4.2)
    for panel, (x_label, bands) in zip(
        figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True
    ):
        _draw_bands(panel, bands, looks)
        panel.set(xlabel=x_label, ylabel=y_label, xlim=(0, None))
    draw_legend(figure, settings, [looks[setting] for setting in settings])
    figure.suptitle(
        "Lines: interquartile means. Bands: 95 % stratified bootstrap intervals.", fontsize="small", color=GREY
    )
    return figure


def _draw_bar(panel: "Axes", label: str, estimate: float, low: float, high: float, look: Line) -> None:
    name = textwrap.fill(label, _LONGEST)
    panel.use_sticky_edges = False
    panel.grid(visible=False, axis="y")
    panel.barh(name, high - low, left=low, height=_BAR, color=look.color, alpha=0.5)
    panel.plot([estimate], [name], marker="|", color=look.color, markersize=14, markeredgewidth=2)


def _draw_bands(panel: "Axes", bands: Mapping[str, Band], looks: Mapping[str, Line]) -> None:
    for setting, band in bands.items():
        look = looks[setting]
        panel.plot(band.x, band.estimate, color=look.color, linestyle=look.dashes)
        panel.fill_between(band.x, band.low, band.high, color=look.color, alpha=0.2, linewidth=0)
