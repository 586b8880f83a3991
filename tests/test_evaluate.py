import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import imageio.v2
import numpy as np
import pytest
import yaml

from acer_tf import ACER
from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.evaluate import main
from tests.counter import Counter

GAME = "BreakoutNoFrameskip-v4"


@pytest.fixture(scope="module", autouse=True)
def counter_env() -> Iterator[None]:
    gymnasium.register("Counter-v0", lambda render_mode=None: Counter(3, render_mode))
    yield
    del gymnasium.registry["Counter-v0"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of Counter-v0; the agent takes action 0 most often, but not always."""
    folder = tmp_path_factory.mktemp("run")
    agent = ACER("MlpPolicy", gymnasium.make("Counter-v0"), seed=0, policy_kwargs={"net_arch": [4]})
    agent.load_parameters({"pi_head/bias": np.array([1.0, 0.0])}, exact_match=False)
    agent.save(folder / "model.zip")
    (folder / "config.yml").write_text(yaml.safe_dump({"env": "Counter-v0", "num_env": 4}))
    return folder


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("game")
    ACER("cnn_small", GAME, seed=0).save(folder / "model.zip")
    (folder / "config.yml").write_text(yaml.safe_dump({"env": GAME, "max_episode_frames": 400}))
    return folder


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
    }


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
    assert found["human_normalized"] == human_normalized("breakout", found["mean"])
    out = capsys.readouterr().out
    assert f"human-normalised: {found['human_normalized']:.3f} (0 is random play, 1 is a human)" in out
    assert f": {tmp_path / 'a.mp4'}" in out
    reader = imageio.v2.get_reader(tmp_path / "a.mp4", format="FFMPEG")  # type: ignore[call-overload]
    assert 20 < reader.count_frames() <= 100
    assert np.asarray(reader.get_data(0)).shape == (210, 160, 3)


def test_a_video_without_a_name_is_beside_the_agent(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.zip"
    file.write_bytes((run / "model.zip").read_bytes())
    assert main([str(file), "--env", "Counter-v0", "--episodes", "1", "--video"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(f": {tmp_path / 'agent.mp4'}")
    assert (tmp_path / "agent.mp4").stat().st_size > 0


def test_bad_input(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(*words: str) -> str:
        assert main(list(words)) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1 and captured.out == ""
        return captured.err

    assert "nowhere does not exist; expected a run folder" in error("nowhere")
    assert f"{tmp_path} holds no agent" in error(str(tmp_path))
    assert "environment 'Breakot' does not exist; the nearest are" in error(str(run), "--env", "Breakot")
    assert "environment's observation space is Box([-4.8" in error(str(run), "--env", "CartPole-v1")
    assert "num_env is 0; expected a whole number >= 1" in error(str(run), "--num_env", "0")
    assert "episodes is 0; expected a whole number >= 1" in error(str(run), "--episodes", "0")
    (tmp_path / "old.json").touch()
    assert "old.json exists; choose another name" in error(str(run), "--json", str(tmp_path / "old.json"))
    assert "a.gif is not an mp4 file" in error(str(run), "--video", "a.gif")
    assert "--explain is about the video; give --video, too." in error(str(run), "--explain")
    (tmp_path / "model.zip").write_bytes(b"no zip")
    assert "model.zip is not the file of a trained agent" in error(str(tmp_path), "--env", "Counter-v0")


def test_bad_input_is_found_without_tensorflow(tmp_path: Path) -> None:
    code = "import sys; from acer_tf.evaluate import main; print(main(sys.argv[1:]), 'tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"
