import sys
from pathlib import Path
from typing import Any

import pytest

from acer_tf.callbacks import (
    CheckpointCallback,
    EvalCallback,
    EveryNTimesteps,
    ProgressBarCallback,
    VideoCallback,
)
from acer_tf.errors import InputError
from tests.callbacks.scripted_agent import ScriptedAgent
from tests.counter import Counter, counters
from tests.videos import frames


def test_saves_every_so_many_calls_under_the_number_of_agent_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ScriptedAgent().learn(2, CheckpointCallback(3, tmp_path / "new", "agent", verbose=1))
    saved = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert saved == {"agent_6_steps.zip": "6", "agent_12_steps.zip": "12", "agent_18_steps.zip": "18"}
    assert f"saved {tmp_path / 'new' / 'agent_18_steps.zip'}" in capsys.readouterr().out


def test_a_path_may_begin_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    evaluation = EvalCallback(Counter(1), eval_freq=10, log_path="~/logs", best_model_save_path="~/best", verbose=0)
    ScriptedAgent().learn(2, [CheckpointCallback(5, "~/agents"), evaluation])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agents", "best", "logs"]


def test_says_nothing_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ScriptedAgent().learn(2, EveryNTimesteps(10, CheckpointCallback(1, str(tmp_path))))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rl_model_10_steps.zip", "rl_model_20_steps.zip"]
    assert capsys.readouterr().out == ""


def test_bad_input_of_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="save_freq is 0; expected a whole number >= 1"):
        CheckpointCallback(0, tmp_path)


@pytest.mark.parametrize(
    "callback",
    [
        lambda file: CheckpointCallback(1, file),
        lambda file: VideoCallback(Counter(3), 1, file),
        lambda file: EvalCallback(Counter(1), log_path=file),
        lambda file: EvalCallback(Counter(1), best_model_save_path=file),
    ],
)
def test_a_folder_that_cannot_be_made_is_found_before_training(tmp_path: Path, callback: Any) -> None:
    (tmp_path / "file").touch()
    agent = ScriptedAgent()
    with pytest.raises(InputError, match=r"file cannot be written \(File exists\); choose another folder"):
        agent.learn(2, callback(tmp_path / "file"))
    assert agent.num_timesteps == 0


def test_records_every_so_many_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    callback = VideoCallback(Counter(3), 4, tmp_path, n_episodes=2, verbose=1)
    ScriptedAgent(skill={16: 1}).learn(2, callback)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rl_video_16_steps.mp4", "rl_video_8_steps.mp4"]
    assert len(frames(tmp_path / "rl_video_8_steps.mp4")) == 8
    assert "rl_video_16_steps.mp4: returns 34, 34" in capsys.readouterr().out


def test_environments_that_cannot_be_recorded_are_found_before_training(tmp_path: Path) -> None:
    for env, message in (
        (Counter(1, render_mode=None), "the environment gives no pictures"),
        (counters(2), "a video shows one environment; expected num_envs 1, not 2"),
    ):
        agent = ScriptedAgent()
        with pytest.raises(InputError, match=message):
            agent.learn(2, VideoCallback(env, 4, tmp_path))
        assert agent.num_timesteps == 0


def test_bad_input_of_videos_is_found_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="save_freq is 0; expected a whole number >= 1"):
        VideoCallback(Counter(1), 0, tmp_path)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match="videos need imageio and ffmpeg"):
        VideoCallback(Counter(1), 1, tmp_path)


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    agent = ScriptedAgent()
    agent.learn(4, ProgressBarCallback())
    assert capsys.readouterr().err == "25.0%  10/40 steps\n"  # the next line comes half a minute later
    agent.learn(6, ProgressBarCallback())
    assert capsys.readouterr().err == "50.0%  50/100 steps\n"


def test_training_that_never_started_can_end() -> None:
    ProgressBarCallback().on_training_end()
