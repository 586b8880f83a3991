import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from acer_tf import ACER
from acer_tf.cli.trained import Trained
from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.evaluate import lines, main, summarized
from acer_tf.evaluation.episodes import Played
from acer_tf.storage.saved_agents import SavedAgent, read_saved_agent
from tests.played import counter_run, write_run
from tests.videos import frames

GAME = "BreakoutNoFrameskip-v4"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with counter_run(tmp_path_factory.mktemp("run")) as folder:
        yield folder


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    agent = ACER("cnn_small", GAME, seed=0)
    return write_run(tmp_path_factory.mktemp("game"), agent, env=GAME, max_episode_frames=400)


def test_prints_and_writes_what_was_played(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main([str(run), "--episodes", "5", "--num_env", "2", "--deterministic", "--json", str(tmp_path / "a.json")])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{run / 'model.zip'}: 5 episodes of Counter-v0, deterministic actions, seed 0"
    assert lines[1] == "raw return: mean 30.00, 95 % confidence interval [30.00, 30.00], standard deviation 0.00"
    assert lines[2] == "length: mean 4.0 agent steps"
    assert lines[3] == f"written: {tmp_path / 'a.json'}"
    assert json.loads((tmp_path / "a.json").read_text()) == {
        "model": str(run / "model.zip"),
        "fingerprint": read_saved_agent(run).fingerprint(),
        "env": "Counter-v0",
        "actions": "deterministic",
        "seed": 0,
        "episodes": 5,
        "mean": 30,
        "std": 0,
        "low": 30,
        "high": 30,
        "mean_length": 4,
        "human_normalized": None,
        "returns": [30] * 5,
        "lengths": [4] * 5,
        "cut": [False] * 5,
    }


def test_episodes_that_were_cut_are_marked(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--episodes", "3", "--max_episode_steps", "2", "--deterministic", "--json", str(tmp_path / "a.json")]
    assert main([str(run), *flags]) == 0
    line = "3 of 3 episodes cut after 2 steps: their returns are those until then; --max_episode_steps sets the limit"
    assert capsys.readouterr().out.splitlines()[3] == line
    report = json.loads((tmp_path / "a.json").read_text())
    assert (report["returns"], report["lengths"], report["cut"]) == ([0, 0, 0], [2, 2, 2], [True, True, True])


def test_actions_are_drawn_unless_asked_otherwise(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, words in {"default": [], "stochastic": ["--stochastic"]}.items():
        assert main([str(run), "--episodes", "40", "--json", str(tmp_path / name), *words]) == 0
        assert "40 episodes of Counter-v0, stochastic actions" in capsys.readouterr().out
    returns = json.loads((tmp_path / "default").read_text())["returns"]
    share = (np.mean(returns) - 30) / 4  # each action 1 pays 1
    assert share == pytest.approx(1 / (1 + np.e), abs=0.1)
    assert returns == json.loads((tmp_path / "stochastic").read_text())["returns"]  # the same seed, the same episodes


def test_a_file_with_an_environment_will_do(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "agent.zip"
    file.write_bytes((run / "model.zip").read_bytes())
    assert main([str(file), "--env", "Counter-v0", "--episodes", "1"]) == 0
    assert "1 episode of Counter-v0" in capsys.readouterr().out


def test_an_atari_game_and_its_video(game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--episodes", "2", "--json", str(tmp_path / "a.json"), "--video", str(tmp_path / "a.mp4")]
    assert main([str(game), *words]) == 0
    found = json.loads((tmp_path / "a.json").read_text())
    assert all(0 < length <= 100 for length in found["lengths"])  # cut as in training, after 400 frames
    assert found["human_normalized"] == human_normalized("BreakoutNoFrameskip-v4", found["mean"])
    out = capsys.readouterr().out
    assert f"human-normalised: {found['human_normalized']:.3f} (0 is random play, 1 is a human)" in out
    assert f": {tmp_path / 'a.mp4'}" in out
    shown = frames(tmp_path / "a.mp4")
    assert 20 < len(shown) <= 100
    assert shown[0].shape == (210, 160, 3)


def test_a_video_without_a_name_is_beside_the_agent(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.zip"
    file.write_bytes((run / "model.zip").read_bytes())
    assert main([str(file), "--env", "Counter-v0", "--episodes", "1", "--video"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(f": {tmp_path / 'agent.mp4'}")
    assert (tmp_path / "agent.mp4").stat().st_size > 0


@pytest.mark.parametrize(
    ("returns", "line"),
    [
        ((7.0,), "raw return: 7.00 (a confidence interval needs 2 episodes)"),
        ((-0.001,), "raw return: 0.00 (a confidence interval needs 2 episodes)"),
        ((7.0, 7.0), "raw return: mean 7.00, 95 % confidence interval [7.00, 7.00], standard deviation 0.00"),
    ],
)
def test_an_interval_needs_two_episodes(returns: tuple[float, ...], line: str) -> None:
    trained = Trained(SavedAgent("model.zip", {}, {}), "CartPole-v1", None)
    report = summarized(trained, "stochastic", 0, [Played(0, r, 10) for r in returns])
    assert list(lines(report, None))[1] == line


def test_bad_input(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(*words: str) -> str:
        assert main(list(words)) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1 and captured.out == ""
        return captured.err

    assert "nowhere does not exist; expected a run folder" in error("nowhere")
    assert f"{tmp_path} holds no agent" in error(str(tmp_path))
    assert "environment 'Breakot' does not exist; the nearest are" in error(str(run), "--env", "Breakot")
    assert "environment's observation space is a Box of shape (4,) and float32" in error(
        str(run), "--env", "CartPole-v1"
    )
    assert "num_env is 0; expected a whole number >= 1" in error(str(run), "--num_env", "0")
    assert "episodes is 0; expected a whole number >= 1" in error(str(run), "--episodes", "0")
    (tmp_path / "old.json").touch()
    assert "old.json exists; choose another name" in error(str(run), "--json", str(tmp_path / "old.json"))
    assert "a.gif is not an mp4 file" in error(str(run), "--video", "a.gif")
    (tmp_path / "model.zip").write_bytes(b"no zip")
    assert "model.zip is not the file of a trained agent" in error(str(tmp_path), "--env", "Counter-v0")
