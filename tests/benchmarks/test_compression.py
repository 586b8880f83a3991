import json
from pathlib import Path

import pytest

from benchmarks.compression import main


def test_sizes_are_of_the_whole_buffer_and_the_projection_is_near(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "numbers.json"
    argv = ["--games", "BreakoutNoFrameskip-v4", "--num_env", "2", "--steps", "200", "--json", str(path)]
    assert main(argv) == 0
    (row,) = json.loads(path.read_text())
    assert row["game"] == "breakout"
    frames = 16 * 50_000 * 84 * 84 * 24 / 20 / 2**30
    assert 0.004 < row["measured_gib"] / frames < 0.03
    assert row["measured_gib"] == pytest.approx(row["projected_gib"], rel=0.3)
    assert row["projected_over_measured"] == pytest.approx(row["projected_gib"] / row["measured_gib"])
    assert min(row["put_ms"], row["get_ms"]) > 0
    sizes = f"{row['projected_gib']:.3f} GiB  {row['measured_gib']:.3f} GiB"
    assert f"{row['game']:<20} {sizes}" in capsys.readouterr().out


def test_an_id_that_is_no_atari_game_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--games", "CartPole-v1"]) == 2
    assert "environment 'CartPole-v1' is not an Atari game" in capsys.readouterr().err
