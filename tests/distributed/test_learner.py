"""The training command with collectors on a cluster of three nodes: what its user may lose or get wrong."""

import importlib.util
import re
import signal
import time
from pathlib import Path

import pytest

from tests.distributed.nodes import Nodes, variables
from tests.faults.processes import PATIENCE, TINY, Training, check_that_none_is_left, command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is an extra"),
]
STEPS = 4_000
TIMES = pytest.mark.parametrize("time_", range(3))


def learner(cluster: tuple[Nodes, Path], folder: Path) -> Training:
    flags = TINY | {"actors": 2, "ray_address": cluster[0].address, "num_timesteps": STEPS, "checkpoint_every": 500}
    return Training(command(folder, env="CartPole-v1", **flags), folder, variables(cluster[1]))


def check_that_it_ended_well(training: Training) -> None:
    assert training.end() == 0, training.said
    assert f"done at step {STEPS:,}" in training.said
    check_that_none_is_left("ray::Collector")


def test_a_killed_learner_takes_its_collectors_along_and_the_same_command_goes_on(
    cluster: tuple[Nodes, Path], tmp_path: Path
) -> None:
    for step in (500, 1500, 2500):
        training = learner(cluster, tmp_path / "run")
        training.wait_for_checkpoint(step)
        training.kill()
        check_that_none_is_left("ray::Collector")
        if step > 500:
            assert int(re.search(r"resumed at step ([\d,]+)", training.said)[1].replace(",", "")) >= step - 1000
    check_that_it_ended_well(learner(cluster, tmp_path / "run"))


def test_ctrl_c_saves_and_the_same_command_goes_on(cluster: tuple[Nodes, Path], tmp_path: Path) -> None:
    training = learner(cluster, tmp_path / "run")
    training.wait_for_checkpoint(500)
    training.process.send_signal(signal.SIGINT)
    assert training.end() == 130, training.said
    assert "resume with: " in training.said
    check_that_none_is_left("ray::Collector")
    check_that_it_ended_well(learner(cluster, tmp_path / "run"))


@TIMES
def test_a_full_object_store(cluster: tuple[Nodes, Path], tmp_path: Path, time_: int) -> None:
    training = learner(cluster, tmp_path / "run")
    training.wait_for_checkpoint(500)
    if time_ == 0:
        cluster[0].tell("fill")
    check_that_it_ended_well(training)


@TIMES
def test_a_wrong_token_is_told_at_once(
    cluster: tuple[Nodes, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time_: int
) -> None:
    began = time.monotonic()
    monkeypatch.setattr("tests.distributed.nodes.TOKEN", "another")
    training = learner(cluster, tmp_path / "run")
    assert training.end() == 2
    assert time.monotonic() - began < PATIENCE / 10
    assert "does not accept the token of this process (RAY_AUTH_TOKEN)" in training.said
    check_that_none_is_left("ray::Collector")
