"""Commands on a cluster of three nodes that loses processes and nodes, and what their user may get wrong."""

import contextlib
import csv
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.distributed.nodes import AUTHENTICATION, Nodes, variables
from tests.faults.processes import PATIENCE, TINY, Training, check_that_none_is_left

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TIMES = pytest.mark.parametrize("time_", range(3))
SWEEP = ("-m", "acer_tf.sweep")
IMPATIENT = """
import sys
from acer_tf.distributed import engine
engine.STOPPED_SECONDS = 15
from acer_tf.sweep import main
sys.exit(main(sys.argv[1:]))
"""


class OnCluster(Training):
    """A command on the cluster."""

    steps: int
    left: str
    """In the command lines of the processes that it starts."""

    def __init__(self, cluster: tuple[Nodes, Path], folder: Path, program: tuple[str, ...], **flags: Any) -> None:
        flags = TINY | {"ray_address": cluster[0].address, "num_timesteps": self.steps, "checkpoint_every": 500} | flags
        words = [word for name, value in flags.items() if value is not None for word in (f"--{name}", str(value))]
        super().__init__([sys.executable, *program, *words], folder, variables(cluster[1]))

    @property
    def log(self) -> str:
        """Everything that a training said."""
        raise NotImplementedError

    def wait_for_both(self) -> None:
        """Waits until it, or each of its trials, has more to lose than its first checkpoint, of step 0."""
        raise NotImplementedError

    def check_that_all_is_well(self, resumed: bool = True) -> None:
        """Everything was trained to the end, nothing from the beginning again, and nothing is left running."""
        raise NotImplementedError


class Learner(OnCluster):
    """A training with two collectors on the cluster."""

    steps = 4_000
    left = "ray::Collector"

    def __init__(self, cluster: tuple[Nodes, Path], folder: Path) -> None:
        super().__init__(cluster, folder, ("-m", "acer_tf.run"), env="CartPole-v1", actors=2, logdir=folder)

    def wait_for_both(self) -> None:
        self.wait_for_checkpoint(1000)

    def check_that_all_is_well(self, resumed: bool = True) -> None:
        assert self.end() == 0, self.said
        assert f"done at step {self.steps:,}" in self.said
        assert bool(re.search(r"resumed at step (\d,|500)", self.said)) == resumed, self.said
        check_that_none_is_left(self.left)

    @property
    def log(self) -> str:
        return self.said


class Driver(OnCluster):
    """A sweep with two trials on the cluster."""

    steps = 8_000

    def __init__(self, cluster: tuple[Nodes, Path], out: Path, program: tuple[str, ...] = SWEEP) -> None:
        self.out, self.left = out, str(out)
        sweep = {"envs": "CartPole-v1", "seeds": 2, "seed": None, "out": out, "engine": "ray"}
        super().__init__(cluster, self.folder_of(0), program, **sweep)

    @property
    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()

    def folder_of(self, seed: int) -> Path:
        return self.out / "CartPole-v1" / f"seed-{seed}"

    def wait_for_both(self) -> None:
        self.wait_for_checkpoint(500, self.folder_of(1))
        self.wait_for_checkpoint(1000)

    def worker(self) -> int:
        """The process that supervises the first trial, once both train."""
        self.wait_for_both()
        return int(re.search(r"process (\d+)", self.folder.with_suffix(".heartbeat").read_text())[1])

    def trial(self) -> int:
        """The process that trains the first trial, once both train."""
        self.wait_for_both()
        return int(re.search(r"^pid=(\d+)", (self.folder / ".lease").read_text(), re.M)[1])

    def check_that_all_is_well(self, resumed: bool = True) -> None:
        assert self.end() == 0, self.said
        with (self.out / "sweep.csv").open() as file:
            assert [row["status"] for row in csv.DictReader(file)] == ["done", "done"], self.said
        for seed in range(2):
            log = self.folder_of(seed).with_suffix(".log").read_text()
            assert f"done at step {self.steps:,}" in log
            starts = [int(step.replace(",", "")) for step in re.findall(r"resumed at step ([\d,]+)", log)]
            assert all(step >= 500 for step in starts), log
            assert bool(starts) == resumed or seed == 1, log
            assert not self.folder_of(seed).with_suffix(".heartbeat").exists()
        check_that_none_is_left(str(self.out))


Again = Callable[[], OnCluster]


@pytest.fixture
def driver(cluster: tuple[Nodes, Path], tmp_path: Path) -> Iterator[Driver]:
    with ended(Driver(cluster, tmp_path / "sweep")) as started:
        yield started


@pytest.fixture(params=[Driver, Learner])
def again(request: pytest.FixtureRequest, cluster: tuple[Nodes, Path], tmp_path: Path) -> Again:
    """Starts the same command, each time it is called."""
    return lambda: request.param(cluster, tmp_path / "runs")


@pytest.fixture
def started(again: Again) -> Iterator[OnCluster]:
    with ended(again()) as started:
        yield started


@contextlib.contextmanager
def ended(command: OnCluster) -> Iterator[Any]:
    """Ends a command after the test, whatever happens."""
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()


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
    with ended(Driver(cluster, tmp_path / "sweep", ("-c", IMPATIENT))) as driver:
        os.kill(driver.worker(), signal.SIGSTOP)
        driver.check_that_all_is_well()
        assert "no sign of life from the worker" in driver.said


@TIMES
def test_a_removed_node(cluster: tuple[Nodes, Path], driver: Driver, time_: int) -> None:
    cluster[0].tell(f"remove {psutil.Process(driver.worker()).ppid()}")
    driver.check_that_all_is_well()


@TIMES
def test_a_killed_command_takes_everything_along_and_goes_on(started: OnCluster, again: Again, time_: int) -> None:
    started.wait_for_both()
    started.kill()
    check_that_none_is_left(started.left)
    again().check_that_all_is_well()


@TIMES
def test_ctrl_c_saves_and_the_same_command_goes_on(started: OnCluster, again: Again, time_: int) -> None:
    started.wait_for_both()
    started.process.send_signal(signal.SIGINT)
    assert started.end() == 130, started.said
    assert started.resume_command()
    assert "stopped at step" in started.log
    check_that_none_is_left(started.left)
    again().check_that_all_is_well()


@TIMES
def test_a_full_object_store(cluster: tuple[Nodes, Path], started: OnCluster, time_: int) -> None:
    started.wait_for_both()
    if time_ == 0:
        cluster[0].tell("fill")
    started.check_that_all_is_well(resumed=False)


@TIMES
def test_a_wrong_token_is_told_at_once(again: Again, tmp_path: Path, monkeypatch: Any, time_: int) -> None:
    began = time.monotonic()
    monkeypatch.setitem(AUTHENTICATION, "RAY_AUTH_TOKEN", "another")
    started = again()
    assert started.end() == 2
    assert time.monotonic() - began < PATIENCE / 10
    assert "does not accept the token of this process (RAY_AUTH_TOKEN)" in started.said
    assert not list(tmp_path.rglob("checkpoints"))
    check_that_none_is_left(started.left)


def test_a_mistyped_flag_is_not_tried_again(cluster: tuple[Nodes, Path], tmp_path: Path) -> None:
    """The driver finds it before it starts anything, as a rule; this is what happens if only the node does."""
    code = f"""
import sys
from acer_tf.distributed.connection import connected
from acer_tf.distributed.engine import RemoteProgram
from acer_tf.trials.scheduler import Trial
from pathlib import Path
with connected({cluster[0].address!r}) as ray:
    trial = Trial("a", 0, Path({str(tmp_path / "a")!r}), ("acer_tf.run", "--gama", "0.9"))
    sys.exit(RemoteProgram(ray, trial, 1).wait())
"""
    started = Training([sys.executable, "-c", code], tmp_path, variables(cluster[1]))
    assert started.end() == 2, started.said
    assert (tmp_path / "a.log").read_text().count("--gama is not a flag") == 1
