"""The files of a run that grow with it, but for TensorBoard's."""

from pathlib import Path

from acer_tf.logs.episode_files import EpisodesSink, MonitorSink
from acer_tf.logs.json_lines import JsonLinesSink
from acer_tf.logs.logger import Logger
from acer_tf.logs.statistics import StatisticsSink
from acer_tf.storage.run_folder import STATISTICS


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
