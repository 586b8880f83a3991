"""The files of a run that grow with it, but for TensorBoard's."""

from pathlib import Path

from acer_tf.persistence.episode_files import EpisodesSink, MonitorSink
from acer_tf.persistence.json_lines import JsonLinesSink
from acer_tf.persistence.logger import Logger
from acer_tf.persistence.run_folder import STATISTICS
from acer_tf.persistence.statistics import StatisticsSink


def run_files(folder: Path, env_id: str | None) -> Logger:
    """Makes what writes progress.csv, progress.jsonl, monitor.csv and episodes.csv.

    Args:
        folder: of the run.
        env_id: id of its environments, where it is known.
    """
    return Logger(
        [
            StatisticsSink(folder / STATISTICS),
            JsonLinesSink(folder / "progress.jsonl"),
            MonitorSink(folder / "monitor.csv", env_id),
            EpisodesSink(folder / "episodes.csv"),
        ]
    )
