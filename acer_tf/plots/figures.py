"""Draws learning curves and estimates with their intervals."""

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from acer_tf.logs.metrics import METRICS
from acer_tf.plots.curves import ENOUGH_SEEDS, Curve
from acer_tf.plots.references import ReferenceLine
from acer_tf.plots.runs import short_number
from acer_tf.plots.series import RETURNS, Axis
from acer_tf.plots.statistics import Band
from acer_tf.plots.style import (
    CHARACTERS_PER_INCH,
    GREY,
    REFERENCE_DASHES,
    Dashes,
    Line,
    count_in_thousands,
    draw_legend,
    legend_columns,
    lines,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS_IN_A_ROW = 3
_WIDTH = 6.4
_HEIGHTS = {1: 3.4, 2: 2.6}
"""Height of a row of panels, in inches: of a single row, and of each of several."""
_FEW_POINTS = 10
"""Most points of a reference with markers, as it consists of a few readings of a curve."""
_LINE, _GAP = 0.135, 0.055
"""Height of a line of small text, and the space between entries of the legend, in inches."""


AXIS_LABELS: dict[Axis, str] = {
    "steps": "agent steps",
    "frames": "raw frames",
    "minutes": "minutes of training",
    "hours": "hours of training",
}


class View(NamedTuple):
    """Content of a plot.

    Attributes:
        metric: as in `acer_tf.plots.series.read_series`.
        axis: horizontal axis of the curves.
        widths: widths of the averaged bins; empty without bins.
    """

    metric: str = "episodes"
    axis: Axis = "steps"
    widths: tuple[float, ...] = ()


def figure_of_curves(curves: Sequence[Curve], view: View, references: Sequence[ReferenceLine] = ()) -> "Figure":
    """Draws the curves of each environment in its own panel, above one legend; to be called inside `styled`.

    Means over three or more runs get a band of one standard deviation; references are grey and behind them.
    """
    envs = list(dict.fromkeys(c.env for c in curves))
    columns = min(len(envs), _PANELS_IN_A_ROW)
    rows = math.ceil(len(envs) / columns)
    width = max(_WIDTH, 3.4 * columns)
    characters = round(CHARACTERS_PER_INCH * width)
    looks = lines([c.setting for c in curves])
    grey = dict(zip(dict.fromkeys(r.label for r in references), itertools.cycle(REFERENCE_DASHES)))
    names = [textwrap.fill(name, characters) for name in [*_with_seeds(curves).values(), *grey]]
    caption = textwrap.fill(_caption(curves, view), characters)
    of_legend = sum(_LINE * (name.count("\n") + 1) + _GAP for name in names) / legend_columns(names, width)
    figure = new_figure(width, _HEIGHTS[min(rows, 2)] * rows + _LINE * (caption.count("\n") + 1) + of_legend)

    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, env in zip(panels, envs, strict=False):
        for c in [c for c in curves if c.env == env]:
            _draw_curve(panel, c, looks[c.setting])
        here = [r for r in references if r.env == env]
        for reference in [r for r in here if len(r.x)]:
            _draw_reference(panel, reference, grey[reference.label])
        _draw_levels(panel, {r.label: float(r.mean[0]) for r in here if not len(r.x)}, grey)
        panel.set(title=env, xlabel=AXIS_LABELS[view.axis], xlim=(0, None))
        if view.axis in ("steps", "frames"):
            count_in_thousands(panel.xaxis)
    for panel in panels[len(envs) :]:
        panel.set_axis_off()
    for panel in panels[::columns]:
        panel.set_ylabel(_metric_label(view.metric))
    figure.suptitle(caption, fontsize="small", color=GREY)
    draw_legend(figure, names, [*looks.values(), *(Line(GREY, dashes) for dashes in grey.values())])
    return figure


def figure_of_bands(panels: Mapping[str, Mapping[str, Band]], y_label: str) -> "Figure":
    """Draws estimates by setting, one panel for each label of an x axis; to be called inside `styled`."""
    settings = list(dict.fromkeys(setting for bands in panels.values() for setting in bands))
    looks = lines(settings)
    figure = new_figure(max(6.4, 4.5 * len(panels)), 4.2)
    for panel, (x_label, bands) in zip(
        figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True
    ):
        draw_bands(panel, bands, looks)
        panel.set(xlabel=x_label, ylabel=y_label, xlim=(0, None))
    draw_legend(figure, settings, [looks[setting] for setting in settings])
    figure.suptitle(
        f"Lines: interquartile means. Bands: 95 % stratified bootstrap intervals, from {ENOUGH_SEEDS} seeds on.",
        fontsize="small",
        color=GREY,
    )
    return figure


def draw_bands(panel: "Axes", bands: Mapping[str, Band], looks: Mapping[str, Line]) -> None:
    """Draws estimates with their intervals, by setting."""
    for setting, band in bands.items():
        look = looks[setting]
        panel.plot(band.x, band.estimate, color=look.color, linestyle=look.dashes)
        panel.fill_between(band.x, band.low, band.high, color=look.color, alpha=0.2, linewidth=0)


def _draw_curve(panel: "Axes", c: Curve, look: Line) -> None:
    panel.plot(c.x, c.mean, color=look.color, linestyle=look.dashes, marker="o" if len(c.x) == 1 else None)
    if c.seeds[0] >= ENOUGH_SEEDS:
        low, high = c.mean - c.deviation, c.mean + c.deviation
        panel.fill_between(c.x, low, high, color=look.color, alpha=0.2, linewidth=0)


def _draw_reference(panel: "Axes", reference: ReferenceLine, dashes: Dashes) -> None:
    marker = "o" if len(reference.x) <= _FEW_POINTS else None
    panel.plot(
        reference.x, reference.mean, color=GREY, linestyle=dashes, linewidth=1.2, marker=marker, markersize=4, zorder=1
    )
    if reference.band is not None:
        panel.fill_between(reference.x, *reference.band, color=GREY, alpha=0.15, linewidth=0)


def _draw_levels(panel: "Axes", levels: Mapping[str, float], dashes: Mapping[str, Dashes]) -> None:
    """Draws levels, except that levels so far away that they would flatten the curves are named at the edge."""
    low, high = panel.get_ylim()
    above = [label for label, level in levels.items() if level > 2 * high - low]
    below = [label for label, level in levels.items() if level < 2 * low - high]
    for label in [label for label in levels if label not in (*above, *below)]:
        panel.axhline(levels[label], color=GREY, linestyle=dashes[label], linewidth=1.2, zorder=1)
    background: dict[str, Any] = {"facecolor": panel.get_facecolor(), "edgecolor": "none", "pad": 1.5}
    for labels, y, side, arrow in ((above, 0.97, "top", "↑"), (below, 0.03, "bottom", "↓")):
        if labels:
            text = "\n".join(f"{arrow} {label}: {levels[label]:,}" for label in labels)
            panel.text(0.02, y, text, color=GREY, size="small", va=side, bbox=background, transform=panel.transAxes)


def _with_seeds(curves: Sequence[Curve]) -> dict[str, str]:
    """Returns the name of each setting with the number of runs that its curves average."""
    names = {}
    for setting in dict.fromkeys(c.setting for c in curves):
        seeds = sorted({int(c.seeds[0]) for c in curves if c.setting == setting})
        count = "1 seed" if seeds == [1] else f"{'-'.join(map(str, {seeds[0]: 0, seeds[-1]: 0}))} seeds"
        names[setting] = f"{setting} ({count})"
    return names


def _caption(curves: Sequence[Curve], view: View) -> str:
    """Returns a description of the lines and bands."""
    parts = []
    seeds = [int(c.seeds[0]) for c in curves]
    if max(seeds) > 1:
        parts.append("Lines: means over seeds.")
    if max(seeds) >= ENOUGH_SEEDS:
        parts.append("Bands: ± one standard deviation over seeds.")
    if min(seeds) < ENOUGH_SEEDS:
        parts.append(f"No band below {ENOUGH_SEEDS} seeds.")
    if view.widths:
        unit = "agent steps" if view.axis == "steps" else view.axis
        width = " to ".join(
            short_number(float(f"{width:.3g}")) for width in sorted({min(view.widths), max(view.widths)})
        )
        parts.append(f"Smoothing: means over {width} {unit}.")
    return " ".join(parts)


def _metric_label(metric: str) -> str:
    if metric in RETURNS:
        return "mean raw return of evaluations" if metric == "eval" else "mean raw return"
    unit = METRICS[metric].unit if metric in METRICS else "1"
    return metric if unit == "1" else f"{metric} ({unit})"
