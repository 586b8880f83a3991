"""A sweep on a cluster of three nodes, of which processes and nodes are lost."""

import csv
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.distributed.nodes import Nodes, variables
from tests.faults.processes import PATIENCE, TINY, Training, check_that_none_is_left

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
STEPS = 8_000
TIMES = pytest.mark.parametrize("time_", range(3))

IMPATIENT = """
import sys
from acer_tf.distributed import remote
remote.STOPPED_SECONDS = 15
from acer_tf.sweep import main
sys.exit(main(sys.argv[1:]))
"""


class Driver(Training):
    """A sweep with two trials on the cluster."""

    def __init__(self, cluster: tuple[Nodes, Path], out: Path, program: tuple[str, ...] = ("-m", "acer_tf.sweep")):
        self.out = out
        flags = {name: value for name, value in TINY.items() if name != "seed"}
        flags |= {"envs": "CartPole-v1", "seeds": 2, "num_timesteps": STEPS, "checkpoint_every": 500, "out": out}
        flags |= {"engine": "ray", "ray_address": cluster[0].address}
        words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        super().__init__([sys.executable, *program, *words], self.folder_of(0), variables(cluster[1]))

    def folder_of(self, seed: int) -> Path:
        return self.out / "CartPole-v1" / f"seed-{seed}"

    def wait_for_both(self) -> None:
        """Waits until each trial has more to lose than its first checkpoint, which is that of step 0."""
        self.wait_for_checkpoint(500, self.folder_of(1))
        self.wait_for_checkpoint(1000)

    def worker(self) -> int:
        """The process that supervises the first trial, once both train."""
        self.wait_for_both()
        return int(re.search(r"process (\d+)", self.folder.with_suffix(".beat").read_text())[1])

    def trial(self) -> int:
        """The process that trains the first trial, once both train."""
        self.wait_for_both()
        return int(re.search(r"^pid=(\d+)", (self.folder / ".lease").read_text(), re.M)[1])

    def check_that_all_is_well(self, resumed: bool = True) -> None:
        """Everything was trained to the end, nothing from the beginning again, and nothing is left running."""
        assert self.end() == 0, self.said
        with (self.out / "sweep.csv").open() as file:
            assert [row["status"] for row in csv.DictReader(file)] == ["done", "done"], self.said
        for seed in range(2):
            log = self.folder_of(seed).with_suffix(".log").read_text()
            assert f"done at step {STEPS:,}" in log
            starts = [int(step.replace(",", "")) for step in re.findall(r"resumed at step ([\d,]+)", log)]
            assert all(step >= 500 for step in starts), log
            assert bool(starts) == resumed or seed == 1, log
            assert not self.folder_of(seed).with_suffix(".beat").exists()
        check_that_none_is_left(str(self.out))


@pytest.fixture
def driver(cluster: tuple[Nodes, Path], tmp_path: Path) -> Iterator[Driver]:
    started = Driver(cluster, tmp_path / "sweep")
    yield started
    started.process.kill()
    started.process.wait()


@TIMES
def test_a_killed_trial_goes_on(driver: Driver, time_: int) -> None:
    os.kill(driver.trial(), signal.SIGKILL)
    driver.check_that_all_is_well()
    assert "ended with status -9" in driver.folder.with_suffix(".log").read_text()


@TIMES
def test_a_killed_worker_takes_its_trial_along_and_another_goes_on(driver: Driver, time_: int) -> None:
    os.kill(driver.worker(), signal.SIGKILL)
    driver.check_that_all_is_well()


@TIMES
def test_a_stopped_worker_is_replaced(cluster: tuple[Nodes, Path], tmp_path: Path, time_: int) -> None:
    driver = Driver(cluster, tmp_path / "sweep", ("-c", IMPATIENT))
    try:
        os.kill(driver.worker(), signal.SIGSTOP)
        driver.check_that_all_is_well()
        assert "no sign of life from the worker" in driver.said
    finally:
        driver.process.kill()


@TIMES
def test_a_removed_node(cluster: tuple[Nodes, Path], driver: Driver, time_: int) -> None:
    cluster[0].tell(f"remove {psutil.Process(driver.worker()).ppid()}")
    driver.check_that_all_is_well()


@TIMES
def test_a_killed_driver_takes_everything_along_and_the_same_command_goes_on(
    cluster: tuple[Nodes, Path], driver: Driver, time_: int
) -> None:
    driver.trial()
    driver.kill()
    check_that_none_is_left(str(driver.out))
    Driver(cluster, driver.out).check_that_all_is_well()


@TIMES
def test_ctrl_c_saves_and_the_same_command_goes_on(cluster: tuple[Nodes, Path], driver: Driver, time_: int) -> None:
    driver.trial()
    driver.process.send_signal(signal.SIGINT)
    assert driver.end() == 130, driver.said
    assert "resume with: " in driver.said
    assert "stopped at step" in driver.folder.with_suffix(".log").read_text()
    check_that_none_is_left(str(driver.out))
    Driver(cluster, driver.out).check_that_all_is_well()


@TIMES
def test_a_full_object_store(cluster: tuple[Nodes, Path], driver: Driver, time_: int) -> None:
    driver.trial()
    if time_ == 0:
        cluster[0].tell("fill")
    driver.check_that_all_is_well(resumed=False)


@TIMES
def test_a_wrong_token_is_told_at_once(
    cluster: tuple[Nodes, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time_: int
) -> None:
    began = time.monotonic()
    monkeypatch.setattr("tests.distributed.nodes.TOKEN", "another")
    driver = Driver(cluster, tmp_path / "sweep")
    assert driver.end() == 2
    assert time.monotonic() - began < PATIENCE / 10
    assert "does not accept the token of this process (RAY_AUTH_TOKEN)" in driver.said
    assert not list(tmp_path.glob("sweep/*/*"))


def test_a_mistyped_flag_is_not_tried_again(cluster: tuple[Nodes, Path], tmp_path: Path) -> None:
    """The driver finds it before it starts anything, as a rule; this is what happens if only the node does."""
    code = f"""
import sys
from acer_tf.distributed.connection import connected
from acer_tf.distributed.remote import RemoteProgram
from pathlib import Path
with connected({cluster[0].address!r}) as ray:
    words, log = ["acer_tf.run", "--gama", "0.9"], Path({str(tmp_path / "a.log")!r})
    sys.exit(RemoteProgram(ray, words, log, 1, lambda status: status < 0, str).wait())
"""
    started = Training([sys.executable, "-c", code], tmp_path, variables(cluster[1]))
    assert started.end() == 2, started.said
    assert (tmp_path / "a.log").read_text().count("--gama is not a flag") == 1
