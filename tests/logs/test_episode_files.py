import csv
import json
import time
from pathlib import Path

import numpy as np

from acer_tf.logs.episode_files import EpisodesSink, MonitorSink
from acer_tf.segment import Episode

EPISODES = [Episode(3, np.float64(7.0), np.int64(12), 1.23456789), Episode(0, -0.5, 4, 2.0)]


def test_monitor_has_the_format_of_baselines(tmp_path: Path) -> None:
    sink = MonitorSink(tmp_path / "monitor.csv", "Some-v0")
    sink.episodes([])
    sink.episodes(EPISODES)
    comment, *rest = (tmp_path / "monitor.csv").read_text().splitlines()
    assert comment[0] == "#"
    header = json.loads(comment[1:])
    assert header["env_id"] == "Some-v0"
    assert abs(header["t_start"] - time.time()) < 10
    assert list(csv.DictReader(rest)) == [
        {"r": "7.0", "l": "12", "t": "1.234568"},
        {"r": "-0.5", "l": "4", "t": "2.0"},
    ]
    sink.close()
    sink.close()


def test_episodes_carry_the_steps_of_their_iteration(tmp_path: Path) -> None:
    sink = EpisodesSink(tmp_path / "episodes.csv")
    sink.episodes(EPISODES)
    sink.progress(80)
    sink.episodes([])
    sink.progress(160)
    sink.episodes(EPISODES[:1])
    sink.progress(240)
    assert (tmp_path / "episodes.csv").read_text() == (
        "steps,return,length,env\n80,7.0,12,3\n80,-0.5,4,0\n240,7.0,12,3\n"
    )
    sink.close()
    sink.close()
