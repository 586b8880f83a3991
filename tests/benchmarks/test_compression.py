import json
from pathlib import Path

import pytest

from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.replay.size import check_memory, frame_ratio
from benchmarks.compression import main


def test_sizes_are_of_the_whole_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "numbers.json"
    argv = ["--games", "BreakoutNoFrameskip-v4", "--num_env", "1", "--steps", "110", "--json", str(path)]
    assert main(argv) == 0
    (row,) = json.loads(path.read_text())
    assert row["game"] == "breakout"
    env = make_training_env("BreakoutNoFrameskip-v4", 16)
    assert 0.004 < frame_ratio(env, Config()) < 0.01
    assert row["predicted_gib"] == pytest.approx(check_memory(env, Config()) / 2**30, rel=1e-4)
    assert row["measured_gib"] == pytest.approx(row["predicted_gib"], rel=0.25)
    assert row["predicted_over_measured"] == row["predicted_gib"] / row["measured_gib"]
    sizes = f"{row['predicted_gib']:.3f} GiB  {row['measured_gib']:.3f} GiB"
    assert f"breakout             {sizes}" in capsys.readouterr().out


def test_an_id_that_is_no_atari_game_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--games", "CartPole-v1"]) == 2
    assert "environment 'CartPole-v1' is no Atari game" in capsys.readouterr().err
