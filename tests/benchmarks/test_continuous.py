import json
from pathlib import Path

import pytest

from benchmarks.continuous import main

COLLECTING = ("simulation", "wrappers", "acting")


def test_shares_are_of_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "numbers.json"
    assert main(["--env", "Pendulum-v1", "--seconds", "0.5", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Pendulum-v1: ")
    shares = [float(line.split()[1].removesuffix("%")) for line in out.splitlines()[1:]]
    assert {line.split()[0] for line in out.splitlines()[1:]} == {*COLLECTING, "training", "replay", "rest"}
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert all(0 < share < 100 for share in shares)
    numbers = json.loads(path.read_text())
    assert numbers["env_steps_per_s"] > 0
    storing = numbers["storing_of_collecting"] * sum(numbers["share"][part] for part in COLLECTING)
    drawing = numbers["drawing_of_training"] * numbers["share"]["training"]
    assert min(storing, drawing) > 0 and storing + drawing == pytest.approx(numbers["share"]["replay"])
