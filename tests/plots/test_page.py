"""The commands of docs/plots.md, one after the other."""

import shlex
from pathlib import Path

import pytest

from acer_tf.__main__ import run
from tests.plots.samples import write_run
from tests.test_docs import COMMAND_LINE

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    returns = [float(i % 5) for i in range(40)]
    for name in ("A", "B"):
        folder = write_run(Path("runs") / name, returns, env="CartPole-v1", network="mlp", lr=ord(name))
        (folder / "progress.csv").write_text("total_timesteps,entropy\n0,0.6\n4000,0.5\n")
    write_run(Path("runs/pong"), returns, env="PongNoFrameskip-v4", network="cnn")
    for seed in range(3):
        write_run(
            Path(f"runs/two-games/Pong/seed-{seed}"), [seed + value for value in returns], env="PongNoFrameskip-v4"
        )
    Path("paper.csv").write_text("steps,mean_return,low,high\n100,-21,-21,-20\n4000,20,19,21\n")
    commands = COMMAND_LINE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(commands) == 6
    for command in commands:
        _, name, *words = shlex.split(command)
        assert run(name, words) == 0
    written = {path.name for path in Path().iterdir() if path.is_file()}
    assert written >= {"curves.png", "curves.csv", "speed.svg", "entropy.pdf", "pong.png", "games.png", "report.html"}
    assert written >= {"games-intervals.png", "games-intervals.csv"}
