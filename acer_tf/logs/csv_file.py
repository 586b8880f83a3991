"""A CSV file that grows by whole rows."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from acer_tf.logs.append_file import AppendFile


class CsvFile(AppendFile):
    """A CSV file, created by its first `append`; see `AppendFile`."""

    def __init__(self, path: Path, columns: Sequence[str], comment: str = "") -> None:
        """`comment`, a line starting with #, comes before the header of column names."""
        super().__init__(path, ((comment + "\n" if comment else "") + _text([columns])).encode())

    def append(self, rows: Iterable[Sequence[object]]) -> None:
        """Writes all rows in one piece; if that fails, says so.

        Raises:
            FileExistsError: at the first call, the file is there already; rows of two runs never mix.
        """
        self.append_bytes(_text(rows).encode())


def _text(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
