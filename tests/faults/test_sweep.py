import csv
import os
import signal
import time
from pathlib import Path

import pytest

from tests.faults.processes import PATIENCE, TINY, command, training


def status(out: Path) -> str:
    (row,) = csv.DictReader((out / "sweep.csv").open())
    return row["status"]


def holder(folder: Path) -> int:
    """The process that works in a run folder."""
    return int(dict(line.split("=") for line in (folder / ".lease").read_text().splitlines() if "=" in line)["pid"])


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}") and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.timeout(400)
def test_a_killed_sweep_takes_its_trial_along_and_resumes(tmp_path: Path) -> None:
    folder = tmp_path / "CartPole-v1" / "seed-0"
    own = {name: value for name, value in TINY.items() if name != "seed"}
    words = command(tmp_path, "acer_tf.sweep", envs="CartPole-v1", seeds=1, **own, checkpoint_every=100)
    words[-2:] = ["--out", str(tmp_path), "--num_timesteps"]
    with training(folder, [*words, "1000000"]) as sweep:
        sweep.wait_for_checkpoint(200)
        with training(folder, [*words, "1000000"]) as second:
            assert second.end() == 69
            assert f"{tmp_path} is locked by process {sweep.process.pid}" in second.said
        same = {"env": "CartPole-v1", "seed": 0, "num_timesteps": 1_000_000, "checkpoint_every": 100}
        with training(folder, command(folder, **TINY | same)) as run:
            assert run.end() == 69, run.said
        trial = holder(folder)
        sweep.kill()
        wait_for_end(trial)
    assert status(tmp_path) == "running"
    log = folder.with_name("seed-0.log").read_text()
    assert "stopped at step" in log  # it has saved

    with training(folder, [*words, "1000000"]) as sweep:
        sweep.wait_for("running CartPole-v1")
        while "resumed at step" not in folder.with_name("seed-0.log").read_text():
            time.sleep(0.05)
        sweep.process.send_signal(signal.SIGINT)
        assert sweep.end() == 130
    assert status(tmp_path) == "stopped"
