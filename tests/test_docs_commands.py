"""Commands and examples of pages for newcomers, run with fewer steps."""

import importlib
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from acer_tf.__main__ import COMMANDS
from acer_tf.run import main

DOCS = Path(__file__).parent.parent / "docs"
COMMAND = re.compile(r"^ {4}acer ((?:run|run-atari) .*)$", re.MULTILINE)
SETTINGS = [shlex.split(line) for line in COMMAND.findall((DOCS / "which-settings.md").read_text(encoding="utf-8"))]
SHORT = "--num_env 2 --nsteps 5 --num_timesteps 60 --buffer_size 100 --replay_start 20".split()


def test_an_environment_of_ones_own_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "environments.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"`corridor\.py`:\n\n```python\n(.*?)```", text, flags=re.DOTALL)
    (line,) = re.findall(r"^ {4}acer run (.*corridor.*)$", text, flags=re.MULTILINE)
    (tmp_path / "corridor.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert main([*shlex.split(line), *SHORT, "--logdir", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "model.zip").exists()


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
