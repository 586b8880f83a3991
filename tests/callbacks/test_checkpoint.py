from pathlib import Path

import pytest

from acer_tf.callbacks import CheckpointCallback, EveryNTimesteps
from acer_tf.errors import InputError
from tests.callbacks.scripted_agent import ScriptedAgent


def test_saves_every_so_many_calls_under_the_number_of_agent_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ScriptedAgent().learn(2, CheckpointCallback(3, tmp_path / "new", "agent", verbose=1))
    saved = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert saved == {"agent_6_steps.zip": "6", "agent_12_steps.zip": "12", "agent_18_steps.zip": "18"}
    assert f"saved {tmp_path / 'new' / 'agent_18_steps.zip'}" in capsys.readouterr().out


def test_says_nothing_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ScriptedAgent().learn(2, EveryNTimesteps(10, CheckpointCallback(1, str(tmp_path))))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rl_model_10_steps.zip", "rl_model_20_steps.zip"]
    assert capsys.readouterr().out == ""


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="save_freq is 0; expected a whole number >= 1"):
        CheckpointCallback(0, tmp_path)
