"""What an extra installs is missing: each command says in a sentence which extra of this package brings it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from acer_tf.demos.cards import demo_file

MISSING = {
    "enjoy lunarlander": ("Box2D", "box2d"),
    "enjoy halfcheetah": ("mujoco", "mujoco"),
    "enjoy minatar-breakout": ("minatar", "minatar"),
    "run --env dm_control/cartpole-swingup-v0": ("dm_control", "dm-control"),
    "enjoy cartpole --video new.mp4": ("imageio_ffmpeg", "video"),
    "plot run": ("matplotlib", "plots"),
    "fetch me/cart": ("huggingface_hub", "hub"),
    "publish run me/cart": ("huggingface_hub", "hub"),
    "run --env CartPole-v1 --track wandb --logdir new": ("wandb", "wandb"),
    "run --env CartPole-v1 --actors 1 --logdir new": ("ray", "ray"),
    "sweep --presets CartPole-v1 --search space.yml": ("optuna", "ray"),
    "export run --onnx new.onnx": ("tf2onnx", "onnx"),
}
"""A module that a command needs, and the extra."""
RUN = """
import contextlib, io, json, sys
commands, hidden = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(hidden))
from acer_tf.__main__ import run
for command in commands:
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        name, *words = command.split()
        status = run(name, words)
    print(json.dumps([command, status, said.getvalue()]))
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of CartPole, alone in its folder."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "model.zip").write_bytes(demo_file("cartpole").read_bytes())
    (folder / "config.yml").write_text(yaml.safe_dump({"env": "CartPole-v1"}), encoding="utf-8")
    (folder / "episodes.csv").write_text("steps,return\n20,20\n45,25\n", encoding="utf-8")
    return folder


def statuses_and_messages(folder: Path, hidden: set[str], commands: list[str]) -> dict[str, tuple[int, str]]:
    """Runs commands in one process, in which modules cannot be imported."""
    argv = [sys.executable, "-c", RUN, json.dumps([commands, sorted(hidden)])]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr == ""
    return {command: (status, said) for command, status, said in map(json.loads, done.stdout.splitlines())}


def test_a_missing_package_is_told_by_its_extra(run: Path) -> None:
    found = statuses_and_messages(run.parent, {module for module, _ in MISSING.values()}, [*MISSING])
    assert found.keys() == MISSING.keys()
    for command, (_, extra) in MISSING.items():
        status, said = found[command]
        *notices, error = said.splitlines()
        assert status == 2 and not [line for line in notices if not line.startswith("no display")], (command, said)
        assert error.startswith("error: ") and f".[{extra}]" in error and "acer_tf[" not in error, (command, said)
    assert list(run.parent.glob("*new*")) == []


def test_a_folder_is_published_without_any_extra(run: Path) -> None:
    commands = ["publish run ./published", "fetch ./published --logdir fetched"]
    found = statuses_and_messages(run.parent, {module for module, _ in MISSING.values()}, commands)
    assert found == dict.fromkeys(commands, (0, ""))
    assert (run.parent / "fetched" / "model.zip").read_bytes()
