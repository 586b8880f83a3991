"""Commands and examples of pages for newcomers, run with fewer steps."""

import importlib
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from acer_tf.__main__ import COMMANDS
from acer_tf.__main__ import main as acer

DOCS = Path(__file__).parent.parent / "docs"
COMMAND = re.compile(r"^ {4}acer ((?:run|run-atari) .*)$", re.MULTILINE)
SETTINGS = [shlex.split(line) for line in COMMAND.findall((DOCS / "which-settings.md").read_text(encoding="utf-8"))]
SHORT = "--num_env 2 --nsteps 5 --total_timesteps 60 --buffer_size 100 --replay_start 20".split()


OWN = (DOCS / "your-environment.md").read_text(encoding="utf-8")
OWN_COMMANDS = re.findall(r"^ {4}(acer .*)$", OWN, flags=re.MULTILINE)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of the page about an environment of one's own, which Python does not search yet."""
    for name, code in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", OWN, flags=re.DOTALL):
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("corridor", None)
    gymnasium.registry.pop("Corridor-v0", None)


def run_commands(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs command lines of `acer`, those that train with fewer steps."""
    for line in lines:
        words = shlex.split(line)
        trains = words[1] in ("run", "sweep")
        monkeypatch.setattr(sys, "argv", [*words, *SHORT, "--total_timesteps", "600"] if trains else words)
        assert acer() == 0, line


def test_an_environment_of_ones_own_from_its_file_to_a_policy(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_commands([line for line in OWN_COMMANDS if line.startswith("acer run ")][:1], monkeypatch)
    runpy.run_path("check.py")
    played = runpy.run_path("play.py")
    assert played["terminated"] or played["truncated"]
    (saved,) = re.findall(r"```python\n(import numpy as np\nimport tensorflow.*?)```", OWN, flags=re.DOTALL)
    (own / "saved.py").write_text(saved)
    assert runpy.run_path("saved.py")["policy"].structured_outputs["action"].shape.rank == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_command_of_that_page_runs(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_commands(OWN_COMMANDS, monkeypatch)
    assert (own / "corridor.mp4").stat().st_size > 0 and (own / "curves.png").exists()
    assert len((own / "runs" / "seeds" / "sweep.csv").read_text().splitlines()) == 4
    assert (own / "runs" / "search" / "best.yml").exists() and (own / "runs" / "best" / "model.zip").exists()


def run_example(page: str, heading: str, fewer: dict[str, str], folder: Path) -> dict[str, Any]:
    """Runs the Python code below a heading, with some of its text replaced, and returns its variables."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
    (code,) = re.findall(r"^```python\n(.*?)^```", text.partition("\n## ")[0], flags=re.DOTALL | re.MULTILINE)
    for written, instead in fewer.items():
        assert written in code
        code = code.replace(written, instead)
    (folder / "example.py").write_text(code, encoding="utf-8")
    return runpy.run_path(str(folder / "example.py"))


def test_a_callback_records_numbers_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_example("metrics.md", "Numbers of your own", {"10_000": "40", "log_interval=20": "log_interval=1"}, tmp_path)
    first, *rows = (tmp_path / "tb" / "ACER_1" / "progress.csv").read_text().splitlines()
    assert first.endswith(",custom/pole_angle") and len(rows) == 2
    assert all(0 < float(row.rpartition(",")[2]) < 0.5 for row in rows)


def test_an_evolution_strategy_changes_what_decides_on_actions(tmp_path: Path) -> None:
    fewer = {
        "=5000)": "=20)",
        "range(10)": "range(2)",
        "range(20)": "range(4)",
        "[:5]": "[:1]",
        "episodes=10": "episodes=1",
    }
    variables = run_example("from-stable-baselines.md", "Names of parameters", fewer, tmp_path)
    before, after = variables["parameters"], variables["model"].get_parameters()
    changed = {name for name, array in before.items() if (array != after[name]).any()}
    shared, head = ({f"{layer}/kernel", f"{layer}/bias"} for layer in ("shared/shared_fc0", "pi_head"))
    assert changed == variables["mean"].keys() == shared | head


def test_the_commands_are_found() -> None:
    assert len(SETTINGS) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("words", SETTINGS, ids=" ".join)
def test_each_setting_trains(words: list[str], tmp_path: Path) -> None:
    command, *flags = words
    assert importlib.import_module(COMMANDS[command][0]).main([*flags, *SHORT, "--logdir", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "model.zip").exists()
