"""progress.csv: every row of statistics."""

from collections.abc import Mapping
from pathlib import Path

from acer_tf.persistence.csv_file import CsvFile
from acer_tf.persistence.logger import Sink


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
            ValueError: the names are not those of the first row.
        """
        if self._file is None:
            self._names = tuple(values)
            self._file = CsvFile(self._path, self._names)
            if self._resumed:
                self._file.load_state_dict(self._resumed)
        if different := set(values) ^ set(self._names):
            names = ", ".join(sorted(different))
            raise ValueError(f"{self._path.name} has one header for all rows; not in every row: {names}.")
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
