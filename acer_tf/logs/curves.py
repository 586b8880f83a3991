"""Curves over agent steps, as TensorBoard and Weights & Biases show them."""

import math
import statistics
from collections.abc import Mapping, Sequence

from acer_tf.logs.logger import Sink
from acer_tf.logs.metrics import full_name
from acer_tf.segment import Episode


class CurveSink(Sink):
    """Makes points of curves of rows of metrics, whole episodes and evaluations; subclasses write them.

    Numbers that are not finite are left out. Episodes are collected, a point per iteration, until the next row.
    """

    def __init__(self, frames_per_step: int | None = None) -> None:
        """Writes nothing yet.

        Args:
            frames_per_step: raw frames of an agent step, for Atari games; None writes no frames.
        """
        self._frames_per_step = frames_per_step
        self._ended: list[Episode] = []

    def add(self, steps: int, values: Mapping[str, float]) -> None:
        """Collects one point of each curve, by full name, at these agent steps."""
        raise NotImplementedError

    def write_points(self) -> None:
        """Writes the points collected since the last call."""
        raise NotImplementedError

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row, whose `total_timesteps` is its place on the x axis, and the episodes collected before it."""
        steps = int(values["total_timesteps"])
        frames = {} if self._frames_per_step is None else {"frames": self._frames_per_step * steps}
        self._add_finite(steps, {**values, **frames})
        self.write_points()

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Collects the episodes of an iteration."""
        self._ended.extend(episodes)

    def progress(self, steps: int) -> None:
        """Makes a point of the mean return and length of the iteration's episodes."""
        if self._ended:
            mean_return = statistics.fmean(episode.r for episode in self._ended)
            mean_length = statistics.fmean(episode.l for episode in self._ended)
            self._add_finite(steps, {"episode_return": mean_return, "episode_length": mean_length})
            self._ended.clear()

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Writes the numbers of an evaluation, whose names begin with eval/."""
        self._add_finite(steps, {f"eval/{name}": value for name, value in values.items()})
        self.write_points()

    def _add_finite(self, steps: int, values: Mapping[str, float]) -> None:
        self.add(steps, {full_name(name): float(value) for name, value in values.items() if math.isfinite(value)})
