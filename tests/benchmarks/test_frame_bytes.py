import csv
from pathlib import Path

import pytest

from acer_tf.replay.frame_bytes import frame_bytes
from benchmarks.frame_bytes import main


def test_measures_the_table_anew(tmp_path: Path) -> None:
    path, games = tmp_path / "table.csv", ["ALE/Surround-v5", "BreakoutNoFrameskip-v4"]
    assert main(["--games", *games, "--num_env", "2", "--steps", "300", "--out", str(path)]) == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["game"] for row in rows] == ["surround", "breakout"]
    for row in rows:
        known = frame_bytes()[row["game"]]
        assert float(row["first"]) == pytest.approx(known.first, rel=0.25)
        assert float(row["later"]) == pytest.approx(known.later, rel=0.5)
