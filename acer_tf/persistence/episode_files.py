"""monitor.csv and episodes.csv: every whole episode."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from acer_tf.persistence.csv_file import CsvFile
from acer_tf.persistence.logger import Sink
from acer_tf.segment import Episode


class MonitorSink(Sink):
    """Writes baselines' monitor format: raw return `r`, length in agent steps `l`, seconds since training began `t`."""

    def __init__(self, path: Path, env_id: str) -> None:
        header = json.dumps({"t_start": time.time(), "env_id": env_id})
        self._file = CsvFile(path, ["r", "l", "t"], comment=f"#{header}")

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """See `Sink`."""
        self._file.append([round(float(e.r), 6), int(e.l), round(float(e.t), 6)] for e in episodes)

    def state_dict(self) -> dict[str, int]:
        """See `Sink`."""
        return self._file.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """See `Sink`."""
        self._file.load_state_dict(state)

    def close(self) -> None:
        """Closes the file; may be called again."""
        self._file.close()


class EpisodesSink(Sink):
    """Writes what a learning curve needs and baselines' format lacks: the agent steps so far and the environment.

    `steps` counts the agent steps of all environments at the end of the iteration in which the episode ended.
    """

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

    def state_dict(self) -> dict[str, int]:
        """See `Sink`."""
        return self._file.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """See `Sink`."""
        self._file.load_state_dict(state)

    def close(self) -> None:
        """Closes the file; may be called again."""
        self._file.close()
