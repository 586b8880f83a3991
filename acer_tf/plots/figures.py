"""Draws curves and intervals as PNG files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acer_tf.errors import InputError
from acer_tf.plots.curves import Curve
from acer_tf.plots.intervals import AGGREGATES, Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Draws all curves on one pair of axes; means over several runs get a band of one standard deviation.

    An existing file is replaced.

    Raises:
        InputError: matplotlib is not installed.
    """
    figure = _figure(8, 5)
    axes = figure.add_subplot(xlabel="agent steps, all environments", ylabel="mean raw return")
    for c in curves:
        axes.plot(c.steps, c.mean_return, marker=".", label=c.label)
        if c.seeds[0] > 1:
            axes.fill_between(c.steps, c.mean_return - c.deviation, c.mean_return + c.deviation, alpha=0.2)
    axes.legend()
    axes.grid(alpha=0.3)
    _save(figure, path)


def draw_intervals(path: Path, intervals: Sequence[Interval], unit: str) -> None:
    """Draws a panel per aggregate, with a bar for each setting's interval and a mark at its estimate.

    An existing file is replaced.

    Args:
        path: of the file.
        intervals: as `acer_tf.plots.intervals.intervals` returns them.
        unit: of the scores, for the axes' labels.

    Raises:
        InputError: matplotlib is not installed.
    """
    labels = list(dict.fromkeys(interval.label for interval in intervals))
    figure = _figure(12, 1.5 + 0.5 * len(labels))
    for axes, name in zip(figure.subplots(1, len(AGGREGATES), sharey=True), AGGREGATES, strict=True):
        for interval in intervals:
            if interval.aggregate == name:
                axes.barh(interval.label, interval.high - interval.low, left=interval.low, height=0.5, alpha=0.6)
                axes.plot([interval.estimate], [interval.label], "k|", markersize=16)
        axes.set(title=name, xlabel=unit)
        axes.grid(axis="x", alpha=0.3)
    _save(figure, path)


def _figure(width: float, height: float) -> "Figure":
    """Makes an empty figure, sized in inches, without pyplot's global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib; install it with: pip install matplotlib.") from error
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: "Figure", path: Path) -> None:
    figure.savefig(path, format="png", dpi=120)
