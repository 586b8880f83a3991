import csv
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.faults.processes import PATIENCE, TINY, command, training


def statuses(out: Path) -> dict[str, str]:
    """By seed."""
    with (out / "sweep.csv").open() as file:
        return {row["seed"]: row["status"] for row in csv.DictReader(file)}


def log(folder: Path) -> str:
    return folder.with_name(f"{folder.name}.log").read_text()


def holder(folder: Path) -> int:
    """The process that works in a run folder."""
    return int(dict(line.split("=") for line in (folder / ".lease").read_text().splitlines() if "=" in line)["pid"])


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}") and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def sweep_command(out: Path, steps: int, **flags: object) -> list[str]:
    own = {name: value for name, value in TINY.items() if name != "seed"}
    words = command(out, "acer_tf.sweep", envs="CartPole-v1", **own, num_timesteps=steps, checkpoint_every=100, **flags)
    return [*words[:-2], "--out", str(out)]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_killed_sweep_takes_its_trial_along_and_resumes(tmp_path: Path) -> None:
    folder = tmp_path / "CartPole-v1" / "seed-0"
    words = sweep_command(tmp_path, 1_000_000, seeds=1)
    with training(folder, words) as sweep:
        sweep.wait_for_checkpoint(200)
        with training(folder, words) as second:
            assert second.end() == 69
            assert f"{tmp_path} is locked by process {sweep.process.pid}" in second.said
        other = {"env": "CartPole-v1", "gamma": 0.5}  # other settings, too: the lock counts first
        with training(folder, command(folder, **TINY | other)) as run:
            assert run.end() == 69, run.said
        trial = holder(folder)
        sweep.kill()
        assert statuses(tmp_path) == {"0": "running"}
    with training(folder, words) as sweep:  # at once, while the trial may still be saving
        sweep.wait_for("running CartPole-v1")
        while "resumed at step" not in log(folder):
            time.sleep(0.05)
        wait_for_end(trial)
        stopped = re.findall(r"stopped at step ([\d,]+)", log(folder))[-1]  # by the trial, which has saved
        assert f"resumed at step {stopped}" in log(folder)
        sweep.process.send_signal(signal.SIGINT)
        assert sweep.end() == 130
    assert statuses(tmp_path) == {"0": "stopped"}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_sweep_goes_on_after_ctrl_c_and_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    words = sweep_command(tmp_path, 4000, seeds=3, workers=2)
    folders = [tmp_path / "CartPole-v1" / f"seed-{seed}" for seed in range(3)]
    with training(folders[0], words) as sweep:
        sweep.wait_for_checkpoint(200)
        while not any((folders[1] / "checkpoints").glob("step-*")):
            time.sleep(0.01)
        sweep.process.send_signal(signal.SIGINT)
        assert sweep.end() == 130, sweep.said
        again = sweep.resume_command()
    assert statuses(tmp_path) == {"0": "stopped", "1": "stopped"}
    stopped = [re.findall(r"stopped at step ([\d,]+)", log(folder))[-1] for folder in folders[:2]]

    with training(tmp_path, again) as sweep:
        assert sweep.end() == 0, sweep.said
    assert "3 trials, 0 done before" in sweep.said
    assert statuses(tmp_path) == {"0": "done", "1": "done", "2": "done"}
    for folder, step in zip(folders, stopped, strict=False):
        assert f"resumed at step {step}" in log(folder)
    with (tmp_path / "sweep.csv").open() as file:
        for row in csv.DictReader(file):
            returns = np.loadtxt(Path(row["folder"]) / "episodes.csv", delimiter=",", skiprows=1, ndmin=2)[:, 1]
            assert int(row["episodes"]) == len(returns)
            assert float(row["mean_return"]) == pytest.approx(returns[-100:].mean(), rel=1e-5)

    for folder in folders[:2]:
        alone = tmp_path / "alone" / folder.name
        flags = {"num_timesteps": 4000, "checkpoint_every": 100, "seed": folder.name[-1], "threads": 1}
        with training(alone, command(alone, **TINY | {"env": "CartPole-v1"} | flags)) as run:
            assert run.end() == 0, run.said
        for name in ("model.zip", "episodes.csv"):
            assert (folder / name).read_bytes() == (alone / name).read_bytes(), name
    with training(tmp_path, again) as sweep:
        assert sweep.end() == 0
    assert "3 trials, 3 done before" in sweep.said
