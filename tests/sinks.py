"""A sink that records everything a training loop reports."""

from collections.abc import Mapping, Sequence

from acer_tf.logs.logger import Sink
from acer_tf.segment import Episode


class RecordingSink(Sink):
    """Keeps rows, step counts and episodes in the order in which they arrive."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.steps: list[int] = []
        self.seen: list[Episode] = []

    def write(self, values: Mapping[str, float]) -> None:
        self.rows.append(dict(values))

    def episodes(self, episodes: Sequence[Episode]) -> None:
        self.seen += episodes

    def progress(self, steps: int) -> None:
        self.steps.append(steps)
