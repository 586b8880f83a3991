import pytest

from acer_tf.callbacks import ProgressBarCallback
from tests.callbacks.scripted_agent import ScriptedAgent


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    agent = ScriptedAgent()
    agent.learn(4, ProgressBarCallback())
    assert capsys.readouterr().err == "25.0%  10/40 steps\n"  # the next line comes half a minute later
    agent.learn(6, ProgressBarCallback())
    assert capsys.readouterr().err == "50.0%  50/100 steps\n"


def test_training_that_never_started_can_end() -> None:
    ProgressBarCallback().on_training_end()
