from pathlib import Path

import pytest

from benchmarks.continuous import main


def test_shares_are_of_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "numbers.json"
    assert main(["--env", "Pendulum-v1", "--seconds", "0.5", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Pendulum-v1: ")
    shares = [float(line.split()[1].removesuffix("%")) for line in out.splitlines()[1:]]
    assert {line.split()[0] for line in out.splitlines()[1:]} == {"simulation", "acting", "training", "replay", "rest"}
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert all(0 < share < 100 for share in shares)
    assert '"env_steps_per_s"' in path.read_text()
