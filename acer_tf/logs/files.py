"""Log files that grow by complete rows and survive crashes: CSV files and progress.jsonl."""

import contextlib
import csv
import io
import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acer_tf.errors import InputError
from acer_tf.logs.logger import Logger, Sink, SpacedLogger
from acer_tf.logs.metrics import METRICS, full_name
from acer_tf.segment import Episode
from acer_tf.storage.durable import is_missing, is_still, reading, replace
from acer_tf.storage.run_files import EPISODES, EVALUATIONS, MONITOR, PROGRESS, PROGRESS_LINES
from acer_tf.system.console import say
from acer_tf.system.links import without_links

LARGEST_WAITING = 2**22
"""Most bytes that a sink keeps in memory while its file cannot be written."""
EVALUATION_COLUMNS = ("steps", "episodes", "mean_return", "std_return", "mean_length", "cut")


class FileSink(Sink):
    """A sink with one file, which the first `append` creates.

    It writes every piece with one unbuffered call, so that an interrupt never tears it. Pieces that the disk does not
    take are kept in memory and written by a later call, so a log stops neither training nor checkpoints. If the file is
    moved or deleted, the next piece begins a new one; if it is replaced, the next piece goes to the replacement.
    """

    def __init__(self, path: Path, head: bytes = b"") -> None:
        """Writes `head` before the first piece."""
        self._path = path
        self._head = head
        self._file: io.FileIO | None = None
        self._mode = "x"  # "r+" once the existing file is known to be this one
        self._is_begun = self._is_waiting = False
        self._unwritten = b""

    def append(self, piece: bytes) -> None:
        """Writes a piece; if the disk does not take it, prints a warning and keeps the piece for the next call.

        Raises:
            FileExistsError: the file exists at the first call; pieces of two runs never mix.
        """
        if piece:
            self._leave_what_is_gone()
        if len(self._unwritten) < LARGEST_WAITING:
            self._unwritten += (b"" if self._is_begun else self._head) + piece
            self._is_begun = True
        self._try_to_write()

    def rewrite(self, content: bytes) -> None:
        """Replaces all pieces so far in one step.

        Raises:
            OSError: the disk is full or cannot be written; the pieces are unchanged.
        """
        replace(self._path, content)
        if self._file is not None:
            self._file.close()
        self._open("r+")
        self._unwritten = b""

    def state_dict(self) -> dict[str, Any]:
        """Returns the size in bytes after syncing the file, under the file's name, and the pieces waiting in memory."""
        self._leave_what_is_gone()
        if self._is_begun:
            self._try_to_write(is_synced=True)
        size = 0 if self._file is None else self._file.tell()
        return {self._path.name: size} | ({self._waiting: self._unwritten.decode("latin-1")} if self._unwritten else {})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Drops what was written after `state_dict`, and an incomplete line; the next piece follows the rest.

        Raises:
            InputError: the file is a link, whose target is left alone, or cannot be read or truncated.
        """
        if self._path.is_symlink():
            raise InputError(f"{self._path} is a link; expected the log of this run, or nothing.")
        size = state.get(self._path.name, 0)
        with reading(self._path):
            data = self._path.read_bytes()[:size] if size and self._path.is_file() else b""
            if len(data) == size:  # else pieces that waited no longer follow anything
                self._unwritten = state.get(self._waiting, "").encode("latin-1")
            size = size if self._unwritten else data.rfind(b"\n") + 1
            self._is_begun = bool(size or self._unwritten)
            if not data:
                self._path.unlink(missing_ok=True)
                return
            file = self._open("r+")
            file.truncate(size)
            file.seek(size)

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._file is not None and not self._file.closed:
            self._try_to_write()
            self._file.close()

    @property
    def _waiting(self) -> str:
        """Name, in the state, of the pieces waiting in memory."""
        return f"{self._path.name} waiting"

    def _leave_what_is_gone(self) -> None:
        """Closes a file that was moved, deleted or replaced: its size says nothing about the next one's."""
        if self._file is not None and not is_still(self._path, os.fstat(self._file.fileno())):
            self._file.close()
            self._file, self._is_begun = None, not is_missing(self._path)
            self._mode = "r+" if self._is_begun else "x"

    def _try_to_write(self, is_synced: bool = False) -> None:
        try:
            file = self._open(self._mode) if self._file is None else self._file
            while self._unwritten:
                self._unwritten = self._unwritten[file.write(self._unwritten) :]
            if is_synced:
                os.fsync(file.fileno())
        except OSError as error:
            if isinstance(error, FileExistsError) and os.path.lexists(self._path):
                raise
            if not self._is_waiting:
                say(
                    f"{self._path} cannot be written ({error.strerror}); up to {LARGEST_WAITING >> 20} MiB of its rows "
                    "wait in memory.",
                    is_error=True,
                )
            self._is_waiting = True
        else:
            self._is_waiting = False

    def _open(self, mode: str) -> io.FileIO:
        """Makes the file, or opens an existing one at its end."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = io.FileIO(self._path, mode, opener=without_links)
        self._file.seek(0, os.SEEK_END)
        return self._file


class CsvSink(FileSink):
    """A sink with a CSV file, which keeps an existing header."""

    def __init__(self, path: Path, names: Sequence[str] = ()) -> None:
        """Uses `names` as the header of a new file."""
        super().__init__(path)
        self._name(names)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Drops what was written after `state_dict`, and reads the header.

        Raises:
            InputError: the file is a link, cannot be read or truncated, or has no header.
        """
        super().load_state_dict(state)
        if self._file is None:
            return
        try:
            with reading(self._path), self._path.open(encoding="utf-8", newline="") as file:
                self._name(next(csv.reader(file), ()) or self._names)
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self._path} is damaged ({error}); move it away, and a new one begins.") from error

    def _name(self, names: Sequence[str]) -> None:
        self._names, self._head = tuple(names), csv_lines([names])


class ProgressCsv(CsvSink):
    """Writes every row of metrics to a CSV file; the names in the first row become the header.

    Users' recorded numbers may come later: each gets a column, which is nan in earlier rows.
    """

    _rows = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the file's state and its numbers of columns and rows, as a new column changes every row's size."""
        return {**super().state_dict(), self._of("columns"): len(self._names), self._of("rows"): self._rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Drops what was written after `state_dict`, and reads the header; for errors see `CsvSink`."""
        lines, columns, rows = self._lines(), self._of("columns"), self._of("rows")
        if state.get(columns) and lines and lines[0].count(b",") >= state[columns]:
            # Since then, all rows have been rewritten, even those that waited.
            state = {**state, self._path.name: sum(map(len, lines[: state[rows] + 1])), self._waiting: ""}
        super().load_state_dict(state)
        self._rows = state.get(rows, max(len(lines) - 1, 0))

    def _lines(self) -> list[bytes]:
        with reading(self._path):
            is_own = self._path.is_file() and not self._path.is_symlink()
            return self._path.read_bytes().splitlines(keepends=True) if is_own else []

    def _of(self, what: str) -> str:
        return f"{self._path.name} {what}"

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row.

        Raises:
            InputError: the metrics are not those of the header.
        """
        if not self._names:
            self._name(tuple(values))
        different = (set(values) ^ set(self._names)) & METRICS.keys()
        if different := {name for name in different if METRICS[name].group != "actors"}:
            names = ", ".join(sorted(different))
            raise InputError(f"{self._path} has one header for all rows; missing in some: {names}; move it away.")
        new = [name for name in values if name not in self._names]
        if new and self._file is not None:
            with contextlib.suppress(OSError, ValueError, csv.Error):  # the next row tries again
                self._add_columns(new)
        self.append(csv_lines([[values.get(name, math.nan) for name in self._names]]))
        self._rows += 1

    def _add_columns(self, new: Sequence[str]) -> None:
        names = (*self._names, *new)
        _, *rows = csv.reader(io.StringIO((self._path.read_bytes() + self._unwritten).decode()))
        self.rewrite(csv_lines([names, *([*row, *[math.nan] * len(new)] for row in rows)]))
        self._name(names)


class ProgressJsonLines(FileSink):
    """Writes each row of metrics, under their full names, as a JSON object on one line."""

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row; NaN and infinity become null."""
        row = {full_name(name): value if isinstance(value, int) else _finite(value) for name, value in values.items()}
        self._append_row(row)

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Writes one row of an evaluation, whose names begin with eval/."""
        self._append_row({full_name("total_timesteps"): steps} | {f"eval/{name}": v for name, v in values.items()})

    def _append_row(self, row: Mapping[str, float | None]) -> None:
        self.append(json.dumps(row, allow_nan=False).encode() + b"\n")


class MonitorCsv(FileSink):
    """Writes baselines' monitor format: raw return `r`, length in agent steps `l`, seconds since training began `t`."""

    def __init__(self, path: Path, env_id: str | None) -> None:
        comment = json.dumps({"t_start": time.time(), "env_id": env_id})
        super().__init__(path, f"#{comment}\n".encode() + csv_lines([["r", "l", "t"]]))

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Writes one row for each episode."""
        self.append(csv_lines([round(float(e.r), 6), int(e.l), round(float(e.t), 6)] for e in episodes))


class EpisodesCsv(FileSink):
    """Writes the agent steps so far and the environment, which a learning curve needs and baselines' format lacks.

    `steps` counts the agent steps of all environments at the end of the iteration in which the episode ended.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, csv_lines([["steps", "return", "length", "env"]]))
        self._ended: list[Episode] = []

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Collects episodes until `progress` gives their agent steps."""
        self._ended.extend(episodes)

    def progress(self, steps: int) -> None:
        """Writes one row for each episode that ended in this iteration."""
        self.append(csv_lines([steps, round(float(e.r), 6), int(e.l), int(e.env)] for e in self._ended))
        self._ended.clear()


class EvaluationsCsv(CsvSink):
    """Writes a row for each evaluation, with raw returns of whole episodes and lengths in agent steps."""

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Writes one row, without `cut` if an earlier version began the file."""
        row = {"steps": steps, **values}
        self.append(csv_lines([[round(row.get(name, math.nan), 6) for name in self._names]]))


def csv_lines(rows: Iterable[Sequence[object]]) -> bytes:
    """Returns rows as CSV lines in UTF-8, each ending in a newline."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def file_logger(folder: Path, env_id: str | None, *curves: Sink) -> Logger:
    """Returns a logger that writes progress.csv, progress.jsonl, monitor.csv, episodes.csv and evaluations.csv.

    Args:
        folder: run folder.
        env_id: id of its environments, or None if unknown.
        curves: sinks that get the same rows.
    """
    return SpacedLogger(
        [
            ProgressCsv(folder / PROGRESS),
            ProgressJsonLines(folder / PROGRESS_LINES),
            MonitorCsv(folder / MONITOR, env_id),
            EpisodesCsv(folder / EPISODES),
            EvaluationsCsv(folder / EVALUATIONS, EVALUATION_COLUMNS),
            *curves,
        ]
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
