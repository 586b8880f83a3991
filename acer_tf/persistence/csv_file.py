"""A CSV file that grows by whole rows."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO


class CsvFile:
    """A CSV file, created by its first `append`; rows reach it whole and at once: an interrupt tears no line."""

    def __init__(self, path: Path, columns: Sequence[str], comment: str = "") -> None:
        """`comment`, a line starting with #, comes before the header of column names."""
        self._path = path
        self._head = (comment + "\n" if comment else "") + _text([columns])
        self._file: BinaryIO | None = None

    def append(self, rows: Iterable[Sequence[object]]) -> None:
        """Writes all rows in one piece.

        Raises:
            FileExistsError: at the first call, the file is there already; rows of two runs never mix.
        """
        text = _text(rows)
        if self._file is None:
            self._file = self._path.open("xb")
            text = self._head + text
        self._file.write(text.encode())
        self._file.flush()

    def state_dict(self) -> dict[str, int]:
        """Returns the bytes written so far, under the file's name; they are on the disk then."""
        if self._file is None:
            return {self._path.name: 0}
        os.fsync(self._file.fileno())
        return {self._path.name: self._file.tell()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Goes on where `state_dict` was called, and drops what was written after that."""
        if state.get(self._path.name):
            self._file = self._path.open("r+b")
            self._file.truncate(min(state[self._path.name], self._path.stat().st_size))
            self._file.seek(0, os.SEEK_END)
        else:
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._file is not None:
            self._file.close()


def _text(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
