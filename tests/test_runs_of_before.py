"""Run folders of version 0.1.0 (tests/fixtures/run-folders): they go on, and every command takes them, as then."""

import csv
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal

from acer_tf import ACER
from acer_tf.__main__ import main
from tests.saved import hashes
from tests.small_agents import assert_same, everything

FOLDERS = Path(__file__).parent / "fixtures" / "run-folders"
WHOLE_MLP = FOLDERS / "mlp-whole" / "model.zip"
CHECKPOINT = Path("checkpoints") / "step-000000000200"

Acer = Callable[..., int]


@pytest.fixture
def acer(monkeypatch: pytest.MonkeyPatch) -> Acer:
    """The command of this name; returns its status."""

    def command(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["acer", *map(str, words)])
        return main()

    return command


def flags(run: str) -> list[str]:
    """Those that the run was started with, but the last, its folder."""
    words = shlex.split(yaml.safe_load((FOLDERS / run / "config.yml").read_text())["command"])
    assert words[:3] == ["python", "-m", "acer_tf.run"] and words[-2:] == ["--logdir", run]
    return words[3:-2]


def assert_ends_as(whole: Path, agent: ACER) -> None:
    """To the bit where it was recorded; tests/fixtures/README.md says why not everywhere."""
    expected = everything(ACER.load(whole))
    found = everything(agent)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        if array.dtype.kind == "f":
            assert_allclose(array, expected[name], rtol=1e-6, atol=1e-6, err_msg=name)
        else:
            assert_array_equal(array, expected[name], err_msg=name)


@pytest.mark.parametrize(("run", "longer"), [("mlp", []), ("lstm", ["--total_timesteps", "400", "--force"])])
def test_a_resumed_run_ends_as_without_interruption(run: str, longer: list[str], acer: Acer, tmp_path: Path) -> None:
    """The logs of the killed run reach beyond its checkpoint."""
    folder = shutil.copytree(FOLDERS / run, tmp_path / run)
    assert acer("run", *flags(run), *longer, "--logdir", folder) == 0
    whole, agent = FOLDERS / f"{run}-whole", ACER.load(folder)
    assert agent.num_timesteps == 400
    assert_ends_as(whole / "model.zip", agent)
    assert_same(agent, ACER.load(folder / "checkpoints" / "step-000000000400"))
    assert (folder / "episodes.csv").read_text() == (whole / "episodes.csv").read_text()
    with (folder / "progress.csv").open() as file:
        assert [int(row["total_timesteps"]) for row in csv.DictReader(file)] == [*range(0, 400, 40)]


@pytest.mark.parametrize(("run", "file"), [("mlp", "best.zip"), ("lstm", "model.zip")])
def test_an_agent_comes_from_the_folder_the_checkpoint_and_the_file(run: str, file: str) -> None:
    agent = ACER.load(FOLDERS / run)
    assert agent.num_timesteps == 200
    for source in (CHECKPOINT, file):
        assert_same(agent, ACER.load(FOLDERS / run / source))


@pytest.mark.parametrize("source", [FOLDERS / "mlp", FOLDERS / "mlp" / CHECKPOINT, WHOLE_MLP])
def test_a_run_starts_from_the_weights(source: Path, acer: Acer, tmp_path: Path) -> None:
    """A learning rate of 0 keeps them as they were loaded."""
    changes = ["--lr", 0, "--total_timesteps", 40, "--load_path", source, "--logdir", tmp_path / "new"]
    assert acer("run", *flags("mlp"), *changes) == 0
    found = ACER.load(tmp_path / "new").get_parameters()
    for name, array in ACER.load(source).get_parameters().items():
        assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize(
    ("run", "words", "model", "returns"),
    [
        ("mlp", [], CHECKPOINT, [10, 45, 35, 61]),
        ("mlp", ["--checkpoint", "200"], CHECKPOINT, [10, 45, 35, 61]),
        ("mlp", ["--checkpoint", "best"], "best.zip", [10, 45, 35, 61]),
        ("lstm", [], "model.zip", [24, 35, 13, 22]),
    ],
)
def test_evaluate_plays_the_same_episodes(
    run: str, words: list[str], model: str, returns: list[int], acer: Acer, tmp_path: Path
) -> None:
    before = hashes(FOLDERS)
    how = ["--episodes", 4, "--num_env", 2, "--seed", 5, "--json", tmp_path / "played.json"]
    assert acer("evaluate", FOLDERS / run, *how, *words) == 0
    played = json.loads((tmp_path / "played.json").read_text())
    assert (played["env"], played["model"]) == ("CartPole-v1", str(FOLDERS / run / model))
    assert played["returns"] == returns
    assert hashes(FOLDERS) == before


def test_plot_draws_the_same_curves(acer: Acer, tmp_path: Path) -> None:
    runs = [FOLDERS / "mlp", FOLDERS / "lstm", "--label", "mlp", "lstm"]
    assert acer("plot", *runs, "--smooth", 100, "--out", tmp_path / "curves.svg") == 0
    with (tmp_path / "curves.csv").open() as file:
        rows = [(row["label"], float(row["steps"]), float(row["mean_return"])) for row in csv.DictReader(file)]
    assert rows == [
        ("mlp", 100, pytest.approx(16.4)),
        ("mlp", 200, 15),
        ("mlp", 300, 24),
        ("lstm", 100, pytest.approx(59 / 3)),
        ("lstm", 200, pytest.approx(109 / 3)),
    ]


def test_report_shows_settings_commands_and_versions(acer: Acer, tmp_path: Path) -> None:
    pytest.importorskip("rliable")
    assert acer("report", FOLDERS / "mlp", FOLDERS / "lstm", "--out", tmp_path / "report.html") == 0
    text = (tmp_path / "report.html").read_text()
    for shown in ("in progress or stopped", "finished", "replay_state=stored", "acer_tf&nbsp;0.1.0", "8a659908ad"):
        assert shown in text
    assert "python -m acer_tf.run --env CartPole-v1" in text and "Evaluations during training" in text
