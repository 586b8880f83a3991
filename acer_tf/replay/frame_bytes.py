"""What frames of Atari games take in replay, compressed: a table, measured by `python -m benchmarks.frame_bytes`."""

import csv
import functools
from importlib import resources
from typing import NamedTuple

TABLE = "frame_bytes.csv"


class FrameBytes(NamedTuple):
    """Mean sizes of a game's frames [84, 84] that follow one another and are compressed together, in bytes.

    Attributes:
        first: of the first one.
        later: of each one after it.
    """

    first: float
    later: float

    def of(self, nframes: int) -> float:
        """Returns the bytes of so many frames in a row."""
        return self.first + (nframes - 1) * self.later


@functools.cache
def frame_bytes() -> dict[str, FrameBytes]:
    """Reads the table, by the name of a game's ROM."""
    text = (resources.files("acer_tf.replay") / TABLE).read_text(encoding="utf-8")
    return {row["game"]: FrameBytes(float(row["first"]), float(row["later"])) for row in csv.DictReader(text.split())}
