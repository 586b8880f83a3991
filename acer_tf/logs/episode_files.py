"""monitor.csv and episodes.csv: every whole episode."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from acer_tf.logs.csv_file import CsvFile
from acer_tf.logs.file_sink import FileSink
from acer_tf.segment import Episode


class MonitorSink(FileSink):
    """Writes baselines' monitor format: raw return `r`, length in agent steps `l`, seconds since training began `t`."""

    _file: CsvFile

    def __init__(self, path: Path, env_id: str | None) -> None:
        header = json.dumps({"t_start": time.time(), "env_id": env_id})
        self._file = CsvFile(path, ["r", "l", "t"], comment=f"#{header}")

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """See `Sink`."""
        self._file.append([round(float(e.r), 6), int(e.l), round(float(e.t), 6)] for e in episodes)


class EpisodesSink(FileSink):
    """Writes what a learning curve needs and baselines' format lacks: the agent steps so far and the environment.

    `steps` counts the agent steps of all environments at the end of the iteration in which the episode ended.
    """

    _file: CsvFile

    def __init__(self, path: Path) -> None:
        self._file = CsvFile(path, ["steps", "return", "length", "env"])
        self._ended: list[Episode] = []

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """See `Sink`."""
        self._ended.extend(episodes)

    def progress(self, steps: int) -> None:
        """See `Sink`."""
        self._file.append([steps, round(float(e.r), 6), int(e.l), int(e.env)] for e in self._ended)
        self._ended.clear()
