import sys
from pathlib import Path

import pytest

from acer_tf.system.command_line import command_line


def test_a_module_is_started_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", words := ["python3", "-X", "dev", "-m", "acer_tf.run", "--seed", "1"])
    monkeypatch.setattr(sys, "argv", ["/site/acer_tf/run.py", "--seed", "1"])
    assert command_line() == words


def test_a_console_script_is_started_by_its_name_if_that_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "acer"
    script.touch(mode=0o755)
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", str(script), "run"])
    monkeypatch.setattr(sys, "argv", [str(script), "run"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_line() == ["acer", "run"]
    monkeypatch.setenv("PATH", "/nowhere")
    assert command_line() == [str(script), "run"]
