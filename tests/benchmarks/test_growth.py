import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.growth import Growth, Point, main, measure, plot, tables


def test_a_point_has_speed_and_memory() -> None:
    numbers = measure(Point("CartPole-v1", "mlp", 2, 4, 40, 1, overlap=True, seconds=0.1))
    assert list(numbers) == ["env_steps_per_s", "memory_mib"]
    assert numbers["env_steps_per_s"] > 1
    assert 100 < numbers["memory_mib"] < 10_000


def test_the_plot_has_a_panel_for_each_table(tmp_path: Path) -> None:
    rows = [
        {"env_steps_per_s_ratio": 1.0, "memory_mib_ratio": 1.0},
        {"env_steps_per_s_ratio": 0.5, "memory_mib_ratio": 2},
    ]
    found = {axis: [{axis: i, **row} for i, row in enumerate(rows)] for axis in ("num_env", "replay_ratio")}
    plot(found, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_tables_of_tiny_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = tmp_path / "growth.json"
    words = (
        "--env CartPole-v1 --network mlp --num_env 2 --nsteps 4 --replay 40 --replay_ratio 1 --seconds 0.1 --repeats 2"
    )
    axes = "--num_envs 1 --lengths --replays --ratios 0 2"
    assert main([*words.split(), *axes.split(), "--json", str(numbers)]) == 0
    found = json.loads(numbers.read_text())
    assert [[row[axis] for row in rows] for axis, rows in found.items()] == [[1], [], [], [0, 2]]
    first, second = found["replay_ratio"]
    assert min(first["env_steps_per_s"], first["memory_mib"]) > 0
    assert first["env_steps_per_s_ratio"] == first["memory_mib_ratio"] == 1
    assert second["env_steps_per_s_ratio"] == second["env_steps_per_s"] / first["env_steps_per_s"]
    out = capsys.readouterr().out
    assert out.count("steps/s (x ") == 3 and "round 2 of 2 is done" in out


def test_medians_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def turns(_: object, points: Iterable[Point], repeats: int) -> dict[Point, list[dict[str, float]]]:
        speeds = (4.0, 9.0, 5.0)[:repeats]
        return {p: [{"env_steps_per_s": speed * p.num_env, "memory_mib": 1.0} for speed in speeds] for p in points}

    monkeypatch.setattr("benchmarks.growth.in_turns", turns)
    found = tables(Growth(num_env=1, num_envs=(1, 2), lengths=(20,), replays=(), ratios=(), repeats=3))
    assert [row["env_steps_per_s"] for row in found["num_env"]] == [5.0, 10.0]
    assert found["nsteps"][0]["env_steps_per_s"] == 5.0
