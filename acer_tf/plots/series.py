"""Reads the logs of a run as series over agent steps, raw frames or time."""

import codecs
import contextlib
import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.game import FRAMES_PER_STEP
from acer_tf.envs.ids import is_atari
from acer_tf.errors import InputError
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.storage.checkpoint import checkpoint_folders, step_of
from acer_tf.storage.durable import reading
from acer_tf.storage.run_files import CHECKPOINTS, EPISODES, EVALUATIONS, MONITOR, PROGRESS, SETTINGS
from acer_tf.suggestions import suggestion

APPENDED = (EPISODES, EVALUATIONS, MONITOR, PROGRESS)
"""Files that grow during a run."""
RETURNS = ("episodes", "eval")
"""Metrics that consist of raw returns."""

Axis = Literal["steps", "frames", "minutes", "hours"]
_SECONDS = {"minutes": 60.0, "hours": 3600.0}
LARGEST = 2**30
"""Most bytes of a table."""
REPLACED = re.compile(r"-old(-\d+)?$")
"""End of the name of a folder whose run another one has replaced."""
BEYOND = 1e100
"""Bound on the numbers in a table, so that their squares and sums are finite."""


class Series(NamedTuple):
    """Values in the order of logging.

    Attributes:
        x: [E] float64, agent steps of all environments when the value was logged (or frames, minutes, hours).
        values: [E] float64, such as raw returns of whole episodes.
    """

    x: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def last_mean(self) -> float:
        """Mean of the last hundred values, or nan without any."""
        return float(self.values[-LAST_EPISODES:].mean()) if len(self.values) else math.nan


def sources_among(paths: Sequence[Path]) -> list[Path]:
    """Leaves out files beside run folders, as `runs/sweep/*` also matches tables, logs and pictures."""
    beside = {path.parent for path in paths if path.is_dir()}
    return [path for path in paths if path.parent not in beside or not path.is_file() or _has_returns(path)]


def _has_returns(path: Path) -> bool:
    with reading(path), path.open("rb") as file:
        lines = file.read(2**16).removeprefix(codecs.BOM_UTF8).splitlines()
    return {b"steps", b"return"} <= set(next((line for line in lines if not line.startswith(b"#")), b"").split(b","))


def runs_at(path: Path) -> list[Path]:
    """Returns the runs in a folder at any depth, such as those of a sweep, or the path itself if it is a run or a file.

    It leaves out runs that others have replaced, such as `seed-0-old` beside `seed-0`.
    """
    if not path.is_dir() or (path / SETTINGS).exists() or (path / EPISODES).exists():
        return [path]
    found = {settings.parent for settings in path.rglob(SETTINGS)}
    return sorted(run for run in found if run.with_name(REPLACED.sub("", run.name)) not in found - {run}) or [path]


def distinct_runs(paths: Sequence[Path]) -> list[list[Path]]:
    """Returns the runs at each of several paths, every run only once, at its first path."""
    seen = set[Path]()
    found = []
    for path in paths:
        found.append([run for run in runs_at(path) if run.resolve() not in seen])
        seen |= {run.resolve() for run in found[-1]}
    return found


def has_rows(path: Path) -> bool:
    """Whether a CSV file exists and holds more than comments and the header."""
    if not path.is_file():
        return False
    with reading(path), path.open("rb") as file:
        return sum(not line.startswith(b"#") for line in file) > 1


def read_returns(source: Path) -> Series:
    """Reads a run folder's episodes.csv, or any CSV file with columns steps and return; skips lines starting with #.

    Raises:
        InputError: the file cannot be read, lacks a column, has a cell that is not a number, or holds no episode.
    """
    path = source / EPISODES if source.is_dir() else source
    series = Table(path, f"a run folder or its {EPISODES}").series("steps", "return")
    if not len(series.x):
        raise InputError(f"{path} has no finished episode yet.")
    if np.isinf(series.values).any():
        raise InputError(f"{path} has an infinite return.")
    return series


def returns_so_far(folder: Path) -> Series:
    """Reads the returns of a run, even one in progress; returns none if none can be read."""
    try:
        return read_returns(folder)
    except (InputError, OSError):  # an outage of the network, for instance
        return Series(np.empty(0), np.empty(0))


def trained_steps(folder: Path, episodes: Series | None) -> int:
    """Returns the agent steps that a run has trained: at its newest checkpoint, or at the end of its last episode."""
    steps = [0] if episodes is None else [0, *map(int, episodes.x[-1:])]
    with contextlib.suppress(OSError):  # an outage of the network, for instance
        steps += map(step_of, checkpoint_folders(folder / CHECKPOINTS)[:1])
    return max(steps)


def read_series(source: Path, metric: str) -> Series:
    """Reads a metric over agent steps, leaving out rows in which it is not a number.

    Args:
        source: run folder; for the metric `episodes`, also a CSV file as `read_returns` reads it.
        metric: `episodes` for raw returns of whole episodes, `eval` for mean returns of evaluations, or a column of
            progress.csv.

    Raises:
        InputError: the run has no such metric, or no value of it yet, or a file cannot be read.
    """
    if metric == "episodes":
        return read_returns(source)
    path = source / (EVALUATIONS if metric == "eval" else PROGRESS)
    if metric == "eval":
        series = Table(path, "a run with evaluations (--eval_every)").series("steps", "mean_return")
    else:
        table = Table(path, "a run folder")
        if metric not in table.columns:
            raise InputError(f"{path} has no column {metric}{suggestion(metric, table.columns)}.")
        series = table.series("total_timesteps", metric)
    is_number = np.isfinite(series.values)
    if not is_number.any():
        raise InputError(f"{path} has no value of {metric} yet.")
    return Series(series.x[is_number], series.values[is_number])


def on_axis(series: Series, axis: Axis, source: Path, env: str) -> Series:
    """Replaces a run's agent steps by raw frames or by the time spent in training.

    Raises:
        InputError: the axis is frames, but the environment is not an Atari game, or it is time, which the source lacks.
    """
    if axis == "frames":
        if not is_atari(env):
            raise InputError(
                f"{env or source} is not an Atari game; --x frames needs one, expected --x steps, minutes or hours."
            )
        return series._replace(x=series.x * FRAMES_PER_STEP)
    if axis in _SECONDS:
        if source.is_file():
            raise InputError(f"{source} has no times; --x {axis} needs run folders, expected --x steps.")
        return series._replace(x=_seconds_at(series.x, *clock(source)) / _SECONDS[axis])
    return series


def _seconds_at(
    steps: NDArray[np.float64], ends: NDArray[np.float64], seconds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns the time of agent steps: interpolated between ends of episodes, then at the average speed so far."""
    last = max(ends[-1], 1)
    beyond = 2 * max(steps[-1], last)
    known = np.interp(steps, [0, *ends, beyond], [0, *seconds, seconds[-1] * beyond / last])
    return np.asarray(known, np.float64)


class Table:
    """A CSV file with a header; lines that start with # are comments."""

    def __init__(self, path: Path, expected: str) -> None:
        """Reads the file; `expected` describes a correct one, for messages.

        Raises:
            InputError: the file cannot be read.
        """
        try:
            if path.exists() and not path.is_file():  # reading a pipe or a device may never end
                raise InputError(f"{path} is not a file; expected {expected}.")
            if path.stat().st_size > LARGEST:
                raise InputError(f"{path} has more than {LARGEST / 2**30:.0f} GiB; expected {expected}.")
            lines = io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="").readlines()
            if path.name in APPENDED and lines and not lines[-1].endswith("\n"):
                del lines[-1]  # half a row, from a run in progress or a full disk
            rows = csv.DictReader(line for line in lines if not line.startswith("#"))
            self.columns = tuple(rows.fieldnames or ())
            self._rows = list(rows)
        except FileNotFoundError as error:
            raise InputError(f"{path} does not exist; expected {expected}.") from error
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path} cannot be read ({error}); expected {expected}.") from error
        self.path = path
        self.comments = [line for line in lines if line.startswith("#")]
        self._expected = expected

    def text(self, *columns: str) -> Sequence[list[str]]:
        """Returns the cells of columns, with empty ones where a row is too short.

        Raises:
            InputError: a column is missing.
        """
        if not set(columns) <= set(self.columns):
            raise InputError(f"{self.path} lacks a column {' or '.join(columns)}; expected {self._expected}.")
        return [[row[column] or "" for row in self._rows] for column in columns]

    def numbers(self, *columns: str, empty: str = "") -> Sequence[NDArray[np.float64]]:
        """Returns columns as float64 arrays, one value per row; empty cells count as `empty`.

        Raises:
            InputError: a column is missing, or one of its cells is not a number or beyond `BEYOND`.
        """
        names = " or ".join(columns)
        cells = self.text(*columns)
        try:
            found = [np.array([float(cell or empty) for cell in column], np.float64) for column in cells]
        except ValueError as error:
            raise InputError(f"{self.path} has a cell under {names} that is not a number: {error!s:.200}.") from error
        if any((np.isfinite(numbers) & (abs(numbers) > BEYOND)).any() for numbers in found):
            raise InputError(f"{self.path} has a number under {names} that is not between ±{BEYOND:g}.")
        return found

    def series(self, steps: str, values: str) -> Series:
        """Returns a column over agent steps.

        Raises:
            InputError: as for `numbers`, or a step is not a finite number >= 0.
        """
        series = Series(*self.numbers(steps, values))
        if not (np.isfinite(series.x) & (series.x >= 0)).all():
            raise InputError(f"{self.path} has a cell under {steps} that is not a finite number >= 0.")
        return series


def grouped(*columns: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """Returns the indices of rows with the same cells in these columns, in the order of first appearance."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row, cells in enumerate(zip(*columns, strict=True)):
        found.setdefault(cells, []).append(row)
    return found


def clock(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns agent steps and seconds at the ends of a run's episodes.

    Breaks do not count: the clock of a resumed run continues where it stopped.
    """
    steps = read_returns(folder).x
    (seconds,) = Table(folder / MONITOR, "a run folder").numbers("t")
    known = min(len(steps), len(seconds))  # in a run in progress, one file may be ahead of the other
    if not known:
        raise InputError(f"{folder} has no finished episode yet.")
    return steps[:known], seconds[:known]
