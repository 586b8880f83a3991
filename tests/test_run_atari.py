import re
from pathlib import Path

import pytest
import yaml

from acer_tf.run_atari import main, read
from acer_tf.training.job import Job
from tests.event_files import read as read_events


def test_defaults_are_those_of_baselines() -> None:
    job = read([])
    assert (job.environment.env, job.environment.num_env, job.run.seed) == ("BreakoutNoFrameskip-v4", 16, 0)
    assert (job.network, job.config.total_timesteps, job.config.lrschedule) == ("cnn", 10_000_000, "constant")
    assert job.environment.max_episode_frames == 108_000


def test_replay_larger_than_memory_is_refused_before_games_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("acer_tf.envs.atari.pool.Workers")
    assert main(["--buffer_size", "1e9", "--logdir", str(tmp_path / "run")]) == 2
    assert "lower buffer_size" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("policy", "network", "nlstm"),
    [("cnn", "cnn", None), ("lstm", "cnn_lstm", 256), ("lnlstm", "cnn_lnlstm", 256), ("cnn_lstm", "cnn_lstm", None)],
)
def test_policies_are_those_of_stable_baselines_or_networks(
    policy: str, network: str, nlstm: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []

    def train(job: Job) -> int:
        shown.append((job.network, job.network_kwargs.get("nlstm")))
        return 0

    monkeypatch.setattr("acer_tf.training.run.train", train)
    assert main(["--policy", policy]) == 0
    assert shown == [(network, nlstm)]


def test_trains_on_a_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    argv = ["--env", "PongNoFrameskip-v4", "--policy", "cnn_small", "--num_env", "2", "--total_timesteps", "120"]
    argv += ["--replay_start", "20", "--buffer_size", "200", "--log_interval", "2", "--num_workers", "1"]
    assert main([*argv, "--logdir", str(folder)]) == 0
    assert (folder / "model.zip").exists()
    assert (folder / "progress.csv").read_text().count("\n") >= 2
    assert (folder / "monitor.csv").read_text().splitlines()[1] == "r,l,t"
    assert read_events(folder / "tb")["time/frames"] == [(0, 0), (80, 320)]
    config = yaml.safe_load((folder / "config.yml").read_text())
    assert (config["network"], config["lrschedule"], config["env"]) == ("cnn_small", "constant", "PongNoFrameskip-v4")
    out = capsys.readouterr().out
    assert "PongNoFrameskip-v4" in out
    assert re.search(r"^device: .*; games in 1 process$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ("--env=CartPole-v1", "CartPole-v1"),
        ("--env=mine:Good-v0", "mine:Good-v0"),
        ("--preset=minatar", "MinAtar/Breakout-v1"),
        ("--preset=minatar --env=MinAtar/Asterix-v1", "MinAtar/Asterix-v1"),
    ],
)
def test_what_is_no_atari_game_is_sent_to_the_other_command(
    words: str, env: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    expected = f"error: environment '{env}' is not an Atari game; train on it with: python -m acer_tf.run {words}\n"
    assert capsys.readouterr().err == expected
