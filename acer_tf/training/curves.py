"""Learning curves: mean raw return of the episodes in each bin of agent steps."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError

EPISODES = "episodes.csv"
COLUMNS = ("steps", "return")
CURVE_COLUMNS = ("label", "steps", "mean_return", "episodes")


class Returns(NamedTuple):
    """The whole episodes of a run.

    Attributes:
        steps: [E] float64, agent steps of all environments when the episode ended.
        returns: [E] float64, raw returns.
    """

    steps: NDArray[np.float64]
    returns: NDArray[np.float64]


class Curve(NamedTuple):
    """One line of a plot; bins in which no episode ended are left out.

    Attributes:
        label: its name.
        steps: [K] float64, the end of each bin, in agent steps of all environments.
        mean_return: [K] float64.
        episodes: [K] int64, number of episodes in each bin.
    """

    label: str
    steps: NDArray[np.float64]
    mean_return: NDArray[np.float64]
    episodes: NDArray[np.int64]


def read_returns(source: Path) -> Returns:
    """Reads a run folder's episodes.csv, or any CSV file with the columns steps and return; lines with # are comments.

    Raises:
        InputError: no such file, a column is missing, a cell is no number, or there is no episode.
    """
    path = source / EPISODES if source.is_dir() else source
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); expected a run folder or a CSV file.") from error
    rows = csv.DictReader(lines)
    if not set(COLUMNS) <= set(rows.fieldnames or ()):
        raise InputError(f"{path} lacks a column steps or return; expected a run folder or its {EPISODES}.")
    try:
        table = np.array([[float(row[column]) for column in COLUMNS] for row in rows]).reshape(-1, len(COLUMNS))
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} has a cell under steps or return that is no number: {error}.") from error
    if not len(table):
        raise InputError(f"{path} has no finished episode yet.")
    return Returns(table[:, 0], table[:, 1])


def curve(label: str, returns: Returns, width: float) -> Curve:
    """Returns the mean return in bins of `width` agent steps; a bin includes its end and excludes its start.

    Raises:
        InputError: the width is not positive.
    """
    if not width > 0:
        raise InputError(f"the width of a bin is {width:g} agent steps; expected more than 0.")
    bins, index = np.unique(np.ceil(returns.steps / width), return_inverse=True)
    episodes = np.bincount(index)
    return Curve(label, bins * width, np.bincount(index, weights=returns.returns) / episodes, episodes)


def write_csv(path: Path, curves: list[Curve]) -> None:
    """Writes all curves, a row per bin; replaces an earlier file of curves, and no other.

    Raises:
        InputError: the file exists and holds something else.
    """
    if path.exists():
        with path.open("rb") as old:
            if old.readline().strip() != ",".join(CURVE_COLUMNS).encode():
                raise InputError(f"{path} holds something else than curves; choose another name.")
        path.unlink()
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CURVE_COLUMNS)
        for c in curves:
            writer.writerows([c.label, *row] for row in zip(*map(np.ndarray.tolist, c[1:]), strict=True))


def draw(path: Path, curves: list[Curve]) -> None:
    """Draws all curves as a PNG file, over any file of that name.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib; install it with: pip install matplotlib.") from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot(xlabel="agent steps, all environments", ylabel="mean raw return")
    for c in curves:
        axes.plot(c.steps, c.mean_return, marker=".", label=c.label)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, format="png", dpi=120)
