"""An agent that ships and plays an Atari game: its name is that of the game, as it is typed."""

import contextlib
import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from acer_tf import ACER, enjoy, evaluate
from acer_tf.cli.trained import find_agent, find_trained
from acer_tf.demos import cards
from acer_tf.envs.ids import typed_env_id
from acer_tf.envs.make import make_vec_env
from acer_tf.errors import InputError
from benchmarks import gallery
from tests.videos import frames

GAME = "PongNoFrameskip-v4"


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of demos with an agent that has learned nothing, and its card."""
    folder = tmp_path_factory.mktemp("demos")
    with contextlib.closing(make_vec_env(GAME, 1)) as env:
        agent = ACER("cnn_small", env, seed=0, replay_ratio=0)
        agent.save(folder / "pong.zip")
    card: dict[str, Any] = {"env": GAME, "command": "acer run --preset pong-fast --network cnn_small --seed 1"}
    card |= {"seed": 1, "steps": 0, "mean": -20.5, "std": 0.5, "episodes": 100, "versions": {}, "licence": "MIT"}
    card["date"] = datetime.date(2026, 11, 27)
    (folder / "pong.yml").write_text(yaml.safe_dump(card), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def shipped(untrained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ships, and the current folder is empty."""
    monkeypatch.setattr(cards, "FOLDER", untrained)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


@pytest.mark.parametrize("name", ["pong", "Pong"])
def test_it_is_played_by_its_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert enjoy.main([name, "--episodes", "1", "--max_episode_steps", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [f"pong: {GAME}, stochastic actions, seed 0", "return 0, 20 agent steps, cut"]


def test_it_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert enjoy.main(["pong", "--episodes", "1", "--max_episode_steps", "10", "--explain"]) == 0
    assert "video: pong.mp4" in capsys.readouterr().out
    shown = frames(tmp_path / "pong.mp4")
    assert len(shown) == 10 and shown[0].shape == (440, 720, 3)


def test_it_is_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.main(["pong", "--episodes", "2", "--max_episode_steps", "20"]) == 0
    out = capsys.readouterr().out
    assert GAME in out and "human-normalised" in out and "cut" in out


def test_a_folder_of_that_name_comes_first(tmp_path: Path) -> None:
    (tmp_path / "pong").mkdir()
    with pytest.raises(InputError, match=r"^pong "):
        find_trained(Path("pong"), None)


def test_it_is_suggested() -> None:
    for name in ("pongg", GAME, "runs/pong"):
        with pytest.raises(InputError, match=r"an agent that ships with this package \(pong\)"):
            find_agent(Path(name))


@pytest.mark.parametrize("name", ["pong", "Pong", "PONG", GAME])
def test_its_name_is_that_of_the_game_where_one_trains(name: str) -> None:
    assert typed_env_id(name) == GAME


def test_the_gallery_has_a_section_for_it() -> None:
    assert "## pong\n" in gallery.page() and "larger network" in gallery.page()
    gallery.draw_curves("pong", Path("pong.png"))
    assert Path("pong.png").read_bytes().startswith(b"\x89PNG")
