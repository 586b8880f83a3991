import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from acer_tf import ACER
from acer_tf.enjoy import has_display, main
from tests.counter import Counter
from tests.played import counter_run, write_run
from tests.videos import frames

GAME = "BreakoutNoFrameskip-v4"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with counter_run(tmp_path_factory.mktemp("run")) as folder:
        yield folder


def test_writes_all_episodes_to_a_video(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run), "--episodes", "2", "--video", str(tmp_path / "a.mp4")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{run / 'model.zip'}: Counter-v0, stochastic actions, seed 0"
    assert [line.startswith("return 3") and line.endswith(", 4 agent steps") for line in lines[1:3]] == [True, True]
    assert lines[3] == f"video: {tmp_path / 'a.mp4'}"
    assert len(frames(tmp_path / "a.mp4")) == 8


def test_episodes_that_were_cut_are_marked(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--episodes", "2", "--max_episode_steps", "3", "--deterministic", "--video", str(tmp_path / "a.mp4")]
    assert main([str(run), *flags]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == ["return 0, 3 agent steps, cut"] * 2
    assert len(frames(tmp_path / "a.mp4")) == 6


def test_a_video_without_a_name_is_in_the_run_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("video.mp4", "video-2.mp4"):
        assert main([str(run), "--video", "--episodes", "1"]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"video: {run / name}"
    assert (run / "video.mp4").stat().st_size > 0 and (run / "video-2.mp4").stat().st_size > 0


def test_without_a_display_it_says_so_and_plays(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_display()
    assert main([str(run), "--episodes", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "no display: nothing is shown; for a video add --video"
    assert lines[2].startswith("return 3")


def test_a_game_in_a_window(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # the emulator's window, without a screen
    assert has_display()
    write_run(tmp_path, ACER("cnn_small", GAME, seed=0), env=GAME, max_episode_frames=200)
    assert main([str(tmp_path), "--episodes", "1", "--deterministic"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{tmp_path / 'model.zip'}: {GAME}, deterministic actions, seed 0"
    assert len(lines) == 2 and lines[1].startswith("return ")


def test_what_the_agent_thinks_is_a_video(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = tmp_path / "agent.zip"
    agent.write_bytes((run / "model.zip").read_bytes())
    assert main([str(agent), "--env", "Counter-v0", "--explain", "--episodes", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"video: {tmp_path / 'agent.mp4'}"
    assert [frame.shape for frame in frames(tmp_path / "agent.mp4")] == [(440, 720, 3)] * 4


def test_an_environment_that_cannot_be_shown(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    gymnasium.register("Dark-v0", lambda: Counter(3, None))
    assert main([str(run), "--env", "Dark-v0"]) == 2
    assert "environment 'Dark-v0' cannot be rendered" in capsys.readouterr().err
    del gymnasium.registry["Dark-v0"]


def test_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere"]) == 2
    assert "nowhere does not exist; expected a run folder" in capsys.readouterr().err
