"""A CSV file that grows by whole rows."""

import csv
import io
from collections.abc import Iterable, Sequence
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

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._file is not None:
            self._file.close()


def _text(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
