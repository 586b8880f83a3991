"""The table of metrics, its page, and what a run writes are the same."""

import json
import re
from pathlib import Path

from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.learning import make_model_and_loop
from acer_tf.logs.files import ProgressCsv, ProgressJsonLines
from acer_tf.logs.logger import Logger
from acer_tf.logs.metrics import METRICS, full_name
from acer_tf.logs.tensorboard import TensorBoardSink
from tests.event_files import read

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
BASELINES = [
    *("total_timesteps", "fps", "mean_episode_length", "mean_episode_reward"),
    *("loss", "loss_q", "entropy", "loss_policy", "loss_f", "loss_bc", "explained_variance", "norm_grads"),
    *("norm_grads_q", "norm_grads_policy", "avg_norm_grads_f", "avg_norm_k", "avg_norm_g", "avg_norm_k_dot_g"),
    "avg_norm_adj",
]


def test_the_page_shows_the_table() -> None:
    shown = re.findall(r"^\| `.*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    expected = [
        f"| `{full_name(name)}` | {f'`{name}`' if metric.is_column else ''} | {metric.unit} | {metric.meaning} |"
        for name, metric in METRICS.items()
    ]
    assert shown == expected


def test_a_run_writes_every_metric_and_nothing_else(tmp_path: Path) -> None:
    config = Config(nsteps=5, total_timesteps=200, replay_start=20, buffer_size=100, log_interval=1, replay_ratio=20)
    logger = Logger(
        [
            ProgressCsv(tmp_path / "progress.csv"),
            ProgressJsonLines(tmp_path / "progress.jsonl"),
            TensorBoardSink(tmp_path / "tb", frames_per_step=4),
        ]
    )
    env = make_training_env("CartPole-v1", 2)
    make_model_and_loop("mlp", env, 0, config, logger, num_layers=1, num_hidden=4).learn()
    logger.close()
    written = {name: metric for name, metric in METRICS.items() if metric.group != "actors"}
    columns = [name for name, metric in written.items() if metric.is_column]
    assert columns[: len(BASELINES)] == BASELINES
    assert (tmp_path / "progress.csv").read_text().splitlines()[0].split(",") == columns
    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert len(lines) == 20
    assert all(list(json.loads(line)) == [full_name(name) for name in columns] for line in lines)
    assert read(tmp_path / "tb").keys() == {full_name(name) for name in written}


def test_full_names() -> None:
    assert full_name("loss") == "train/loss"
    assert full_name("replay_loss") == "replay/loss"
    assert full_name("eval/mean_reward") == "eval/mean_reward"
    assert len({full_name(name) for name in METRICS}) == len(METRICS)
    assert {metric.group for metric in METRICS.values()} == {"rollout", "train", "time", "replay", "actors"}
