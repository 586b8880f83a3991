"""progress.jsonl: every row of statistics as a JSON object on a line of its own."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from acer_tf.logs.append_file import AppendFile
from acer_tf.logs.file_sink import FileSink
from acer_tf.logs.metrics import full_name


class JsonLinesSink(FileSink):
    """Writes each row of statistics under its full names; what is not a finite number is null."""

    def __init__(self, path: Path) -> None:
        self._file = AppendFile(path)

    def write(self, values: Mapping[str, float]) -> None:
        """See `Sink`."""
        row = {full_name(name): value if isinstance(value, int) else _finite(value) for name, value in values.items()}
        self._file.append_bytes(json.dumps(row, allow_nan=False).encode() + b"\n")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
