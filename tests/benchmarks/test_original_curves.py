from pathlib import Path

import pytest

from benchmarks.original_curves import CSV, is_there, main, rows

ENV = "MinAtar/Breakout-v1"


def test_a_curve_has_the_mean_of_each_hundredth_in_which_an_episode_ended() -> None:
    episodes = [(8, 1.0), (16, 2.0), (24, 9.0), (992, 4.0), (1000, 5.0), (1008, 99.0)]
    assert rows(ENV, 3, 1000, episodes) == [
        f"{ENV},3,10,1,1\n",
        f"{ENV},3,20,2,1\n",
        f"{ENV},3,30,9,1\n",
        f"{ENV},3,1000,4.5,2\n",
    ]


def test_a_run_that_is_there_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "baselines" / "acer").mkdir(parents=True)
    (tmp_path / "baselines" / "acer" / "acer_simple.py").touch()
    curves = tmp_path / "curves.csv"
    curves.write_text(f"environment,seed,steps,mean_return,episodes\n{ENV},20,10,1,1\n")
    assert is_there(curves, ENV, 20) and not is_there(curves, ENV, 2)
    assert main([str(tmp_path), "--csv", str(curves)]) == 0
    assert "has seed 20" in capsys.readouterr().out


def test_the_experiments_file_has_the_columns_of_curves() -> None:
    assert "environment,seed,steps,mean_return,episodes\n" in CSV.read_text(encoding="utf-8")
