"""progress.csv: every row of statistics."""

import csv
from collections.abc import Mapping
from pathlib import Path

from acer_tf.errors import InputError
from acer_tf.logs.csv_file import CsvFile
from acer_tf.logs.logger import Sink


class StatisticsSink(Sink):
    """Writes each row of statistics; the first row's names are the header."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: tuple[str, ...] = ()
        self._file: CsvFile | None = None
        self._resumed: Mapping[str, int] = {}

    def write(self, values: Mapping[str, float]) -> None:
        """Appends one row.

        Raises:
            InputError: the names are not those of the first row.
        """
        if self._file is None:
            self._file = CsvFile(self._path, tuple(values))
            if self._resumed:
                self._file.load_state_dict(self._resumed)
            self._names = self._header() or tuple(values)
        if different := set(values) ^ set(self._names):
            names = ", ".join(sorted(different))
            raise InputError(f"{self._path} has one header for all rows; not in every row: {names}; move it away.")
        self._file.append([[values[name] for name in self._names]])

    def state_dict(self) -> dict[str, int]:
        """See `Sink`."""
        return {**self._resumed} if self._file is None else self._file.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """See `Sink`."""
        self._resumed = {self._path.name: state.get(self._path.name, 0)}

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._file is not None:
            self._file.close()

    def _header(self) -> tuple[str, ...]:
        if not self._path.exists():
            return ()
        with self._path.open(encoding="utf-8", newline="") as file:
            return tuple(next(csv.reader(file), ()))
