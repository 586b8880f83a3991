"""sweep.csv, the table of a sweep's trials."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from acer_tf.logs.files import csv_lines
from acer_tf.plots.series import Table, returns_so_far, trained_steps
from acer_tf.storage.durable import replace
from acer_tf.system.console import counted, say
from acer_tf.trials.scheduler import Trial, TrialStatus

COLUMNS = ("name", "seed", "status", "steps", "episodes", "mean_return", "folder", "command")
SHOWN = COLUMNS[:6]


class SweepTable:
    """A table with one row per trial, written after every change; it keeps rows of trials not in this sweep."""

    def __init__(self, path: Path) -> None:
        """Reads the file if it exists.

        Raises:
            InputError: it cannot be read.
        """
        self._path = path
        self._rows: dict[str, dict[str, str]] = {}
        if path.exists():
            table = Table(path, "the table of a sweep; choose another folder with --out")
            table.numbers("steps", "episodes", "mean_return")
            rows = [dict(zip(COLUMNS, cells, strict=True)) for cells in zip(*table.text(*COLUMNS), strict=True)]
            self._rows = {row["folder"]: row for row in rows}

    def is_done(self, trial: Trial) -> bool:
        """Returns whether a trial with the same command has succeeded before and its folder is still there."""
        row = self._rows.get(str(trial.folder), {})
        # The same folder with another command is another trial, which the run itself refuses if settings do not fit.
        is_same = row.get("command") == shlex.join(trial.command)
        return row.get("status") == TrialStatus.DONE and is_same and trial.folder.is_dir()

    def update(self, trial: Trial, status: TrialStatus) -> Mapping[str, str]:
        """Replaces a trial's row by its new status and returns so far, writes the file, and returns the row.

        If the file cannot be written, for instance on a full disk, it prints a message, and the next call tries again.
        """
        row = {"name": trial.name, "seed": str(trial.seed), "status": status} | _outcome(trial.folder)
        row |= {"folder": str(trial.folder), "command": shlex.join(trial.command)}
        self._rows[row["folder"]] = row
        try:
            self._write()
        except OSError as error:
            say(f"{self._path} cannot be written ({error.strerror}); it will be tried again", is_error=True)
        return row

    def rows(self, trials: Iterable[Trial]) -> list[Mapping[str, str]]:
        """Returns the rows of those trials that have begun."""
        return [self._rows[str(trial.folder)] for trial in trials if str(trial.folder) in self._rows]

    def _write(self) -> None:
        rows = ([row[column] for column in COLUMNS] for row in self._rows.values())
        replace(self._path, csv_lines([COLUMNS, *rows]))


def summary(rows: Sequence[Mapping[str, str]]) -> str:
    """Returns the rows as text, followed by mean and standard deviation over the finished seeds of each name."""
    shown = [SHOWN, *([row[column] for column in SHOWN] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in shown
    ]
    for name in dict.fromkeys(row["name"] for row in rows):
        done = [row for row in rows if row["name"] == name and row["status"] == TrialStatus.DONE]
        returns = [float(row["mean_return"]) for row in done if row["episodes"] != "0"]
        if returns:
            spread = f" +- {np.std(returns, ddof=1):.1f}" if len(returns) > 1 else ""
            lines.append(f"{name}: {np.mean(returns):.1f}{spread} over {counted(len(returns), 'seed')}")
    return "\n".join(lines)


def _outcome(folder: Path) -> dict[str, str]:
    """Returns the trained agent steps, the number of whole episodes, and the mean raw return of the last ones."""
    episodes = returns_so_far(folder)
    return {
        "steps": str(trained_steps(folder, episodes)),
        "episodes": str(len(episodes.values)),
        "mean_return": f"{episodes.last_mean:.6g}",
    }
