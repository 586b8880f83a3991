"""Commands and examples of pages for newcomers, run with fewer steps."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from acer_tf.run import main

DOCS = Path(__file__).parent.parent / "docs"
COMMAND = re.compile(r"^ {4}python -m (acer_tf\.(?:run|run_atari) .*)$", re.MULTILINE)
SETTINGS = [shlex.split(line) for line in COMMAND.findall((DOCS / "which-settings.md").read_text(encoding="utf-8"))]
SHORT = "--num_env 2 --nsteps 5 --num_timesteps 60 --buffer_size 100 --replay_start 20".split()


def test_an_environment_of_ones_own_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "environments.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"`corridor\.py`:\n\n```python\n(.*?)```", text, flags=re.DOTALL)
    (line,) = re.findall(r"^ {4}python -m acer_tf\.run (.*corridor.*)$", text, flags=re.MULTILINE)
    (tmp_path / "corridor.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert main([*shlex.split(line), *SHORT, "--logdir", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "model.zip").exists()


def test_the_commands_are_found() -> None:
    assert len(SETTINGS) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("words", SETTINGS, ids=" ".join)
def test_each_setting_trains(words: list[str], tmp_path: Path) -> None:
    module, *flags = words
    assert importlib.import_module(module).main([*flags, *SHORT, "--logdir", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "model.zip").exists()
