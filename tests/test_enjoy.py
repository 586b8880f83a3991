import ctypes.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from acer_tf import ACER
from acer_tf.enjoy import main
from acer_tf.envs.rendering import has_display
from tests.counter import Counter
from tests.played import counter_run, write_run
from tests.registered import registered
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
    with registered("Dark-v0", lambda: Counter(3, None)):
        assert main([str(run), "--env", "Dark-v0"]) == 2
    assert "environment 'Dark-v0' cannot be rendered" in capsys.readouterr().err


def test_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere"]) == 2
    assert "nowhere does not exist; expected a run folder" in capsys.readouterr().err


def shown(*words: str, **variables: str) -> list[str]:
    """Runs the command without a display, but for the given variables; returns its output without the first line."""
    left_out = ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL", "XDG_RUNTIME_DIR", "SDL_VIDEODRIVER")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [sys.executable, "-m", "acer_tf.enjoy", *words, "--episodes", "1", "--max_episode_steps", "15"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment | variables)
    assert done.stderr == ""
    return done.stdout.splitlines()[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "library"), [("egl", "EGL"), ("osmesa", "OSMesa"), (None, "EGL")])
def test_mujoco_in_a_video_without_a_display(tmp_path: Path, way: str | None, library: str) -> None:
    pytest.importorskip("mujoco")
    if ctypes.util.find_library(library) is None:
        pytest.skip(f"lib{library} is not installed")
    video = tmp_path / "a.mp4"
    lines = shown("halfcheetah", "--video", str(video), **({} if way is None else {"MUJOCO_GL": way}))
    assert lines[0].endswith(", 15 agent steps, cut") and lines[1] == f"video: {video}"
    assert np.ptp(frames(video)[14]) > 100 and len(frames(video)) == 15


@pytest.fixture
def display(tmp_path: Path) -> Iterator[str]:
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        os.close(write)
        with open(read, encoding="ascii") as line:
            yield f":{line.readline().strip()}"
        server.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["cartpole", "lunarlander", "halfcheetah", GAME])
def test_in_a_window_of_a_display_with_mesa(agent: str, display: str, tmp_path: Path) -> None:
    if agent == GAME:
        write_run(tmp_path, ACER("cnn_small", GAME, seed=0), env=GAME)
        agent = str(tmp_path)
    assert [line.split(",")[1] for line in shown(agent, DISPLAY=display)] == [" 15 agent steps"]


@pytest.mark.slow
def test_mujoco_in_a_video_with_a_display(display: str, tmp_path: Path) -> None:
    shown("halfcheetah", "--video", str(tmp_path / "a.mp4"), DISPLAY=display)
    assert np.ptp(frames(tmp_path / "a.mp4")[14]) > 100
