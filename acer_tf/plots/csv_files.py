"""Writes the numbers of a plot as CSV files."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from acer_tf.errors import InputError
from acer_tf.plots.curves import Curve
from acer_tf.plots.intervals import Interval

CURVE_COLUMNS = ("label", "steps", "mean_return", "episodes", "seeds", "deviation")
OLDEST_CURVE_COLUMNS = CURVE_COLUMNS[:4]
INTERVAL_COLUMNS = ("label", "aggregate", "estimate", "low", "high")


def write_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Writes a row per bin of every curve; replaces an earlier file of curves.

    Raises:
        InputError: the file exists and holds something else.
    """
    _require_header(path, OLDEST_CURVE_COLUMNS, "curves")
    rows = ([c.label, *row] for c in curves for row in zip(*map(np.ndarray.tolist, c[1:]), strict=True))
    _write(path, CURVE_COLUMNS, rows)


def write_intervals(path: Path, intervals: Sequence[Interval]) -> None:
    """Writes a row per interval; replaces an earlier file of intervals.

    Raises:
        InputError: the file exists and holds something else.
    """
    _require_header(path, INTERVAL_COLUMNS, "intervals")
    _write(path, INTERVAL_COLUMNS, intervals)


def _require_header(path: Path, columns: Sequence[str], content: str) -> None:
    """Raises an `InputError` if the file exists and its header does not begin with these columns."""
    if path.exists():
        with path.open("rb") as old:
            if not old.readline().startswith(",".join(columns).encode()):
                raise InputError(f"{path} holds something else than {content}; choose another name.")


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
