"""Writes the numbers of a plot as CSV files."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from acer_tf.errors import InputError
from acer_tf.logs.files import csv_lines
from acer_tf.plots.curves import Curve
from acer_tf.plots.figures import View
from acer_tf.plots.series import RETURNS, Axis
from acer_tf.plots.statistics import Interval
from acer_tf.storage.durable import replace

INTERVAL_COLUMNS = ("label", "aggregate", "estimate", "low", "high")


def write_curves(path: Path, curves: Sequence[Curve], view: View) -> None:
    """Writes one row per bin of every curve; replaces an earlier file of curves.

    Raises:
        InputError: the file exists and holds something else.
    """
    mean = "mean_return" if view.metric in RETURNS else view.metric
    count = "episodes" if view.metric == "episodes" else "values"
    columns = ("label", view.axis, mean, count, "seeds", "deviation", "environment")
    rows = (
        [c.setting, *row, c.env]
        for c in curves
        for row in zip(*(array.tolist() for array in (c.x, c.mean, c.values, c.seeds, c.deviation)), strict=True)
    )
    _write(path, "curves", [f"label,{axis}," for axis in get_args(Axis)], columns, rows)


def write_intervals(path: Path, intervals: Mapping[str, Mapping[str, Interval]]) -> None:
    """Writes one row per interval, by aggregate and setting; replaces an earlier file of intervals.

    Raises:
        InputError: the file exists and holds something else.
    """
    rows = ([setting, name, *found] for name, by_setting in intervals.items() for setting, found in by_setting.items())
    _write(path, "intervals", [",".join(INTERVAL_COLUMNS)], INTERVAL_COLUMNS, rows)


def _write(
    path: Path, content: str, beginnings: Iterable[str], columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Writes rows below a header, unless the file holds something else: a header that begins with none of these."""
    if path.exists():
        with path.open("rb") as old:
            if not old.readline().startswith(tuple(beginning.encode() for beginning in beginnings)):
                raise InputError(f"{path} holds something other than {content}; choose another name.")
    replace(path, csv_lines([columns, *rows]))
