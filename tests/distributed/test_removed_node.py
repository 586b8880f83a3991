"""A whole sweep and a whole search, in the middle of which a node is lost."""

import csv
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from acer_tf.plots.series import read_returns
from tests.distributed.nodes import Nodes, variables
from tests.faults.processes import Training, check_that_none_is_left

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
STEPS = 3000
MOST_ENVS = 4
"""Environments of a training, by default: those of continuous actions have most."""
ENVS = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1")
SPACE = """
lr: {low: 1e-4, high: 1e-2, log: true}
num_env: {low: 1, high: 8, int: true}
network: {choices: [mlp, lstm]}
num_layers: {choices: [1, 2], when: {network: mlp}}
nlstm: {choices: [8, 16], when: {network: lstm}}
"""


def finished(cluster: tuple[Nodes, Path], out: Path, words: Sequence[str], after: str) -> None:
    """Runs a sweep, and removes the node of a training once it has said so."""
    flags = ["--total_timesteps", str(STEPS), "--nsteps", "10", "--replay_start", "100", "--checkpoint_every", "500"]
    flags += ["--exact_resume", "False"]  # else episodes that are longer than 500 steps would never end
    words = [*words, *flags, "--engine", "ray", "--ray_address", cluster[0].address, "--out", str(out)]
    sweep = Training([sys.executable, "-m", "acer_tf.sweep", *words], out, variables(cluster[1]))
    try:
        sweep.wait_for(after, patience=1200)
        worker = next(
            int(process[1])
            for heartbeat in out.rglob("*.heartbeat")
            if (process := re.search(r"process (\d+)", heartbeat.read_text())) and psutil.pid_exists(int(process[1]))
        )
        cluster[0].tell(f"remove {psutil.Process(worker).ppid()}")
        status = sweep.process.wait(1200)
        assert sweep.end() == status == 0, sweep.said
    finally:
        sweep.process.kill()
    check_that_none_is_left(str(out))


def acer(*words: object) -> None:
    """Runs another command, which ends well."""
    subprocess.run([sys.executable, "-m", "acer_tf", *map(str, words)], check=True)


def test_a_sweep(cluster: tuple[Nodes, Path], tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    finished(cluster, out, ["--envs", *ENVS, "--seeds", "3"], "running Acrobot-v1 seed 1")
    with (out / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["name"], row["seed"]) for row in rows} == {(env, str(seed)) for env in ENVS for seed in range(3)}
    assert {row["status"] for row in rows} == {"done"}
    for row in rows:
        log = Path(row["folder"]).with_suffix(".log").read_text()
        assert f"done at step {STEPS:,}" in log
        steps = list(read_returns(Path(row["folder"])).x)
        assert sorted(steps) == steps and max(Counter(steps).values()) <= MOST_ENVS  # no episode is there twice
    acer("report", out, "--out", tmp_path / "report.html")
    acer("plot", out, "--out", tmp_path / "curves.png")


def test_a_search(cluster: tuple[Nodes, Path], tmp_path: Path) -> None:
    out = tmp_path / "search"
    (tmp_path / "space.yml").write_text(SPACE)
    words = ["--search", str(tmp_path / "space.yml"), "--trials", "30", "--envs", "CartPole-v1", "--seeds", "1"]
    finished(cluster, out, words, "running trial-014")
    with (out / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert {row["state"] for row in rows} <= {"complete", "pruned"}
    assert (out / "history.png").exists()
    acer("run", "--preset", out / "best.yml", "--logdir", tmp_path / "best", "--total_timesteps", 200)
    acer("report", out, "--out", tmp_path / "report.html")
