"""An Atari run that is killed again and again.

It takes ACER_SOAK_MINUTES, 3 if that is not set: ACER_SOAK_MINUTES=30 python -m pytest -m slow tests/soak/test_atari.py
"""

import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.faults.processes import command, training
from tests.saved import found, steps

MINUTES = float(os.environ.get("ACER_SOAK_MINUTES", "3"))
LIFE = min(120.0, 60 * MINUTES / 4)
"""Seconds between two kills, after the run has resumed."""


@pytest.mark.slow
@pytest.mark.timeout(int(60 * MINUTES * 3 + 1200))
def test_an_atari_run_survives_many_kills(tmp_path: Path) -> None:
    words = command(
        tmp_path, "acer_tf.run_atari", env="BreakoutNoFrameskip-v4", num_env=2, num_timesteps=10**8, seed=1,
        buffer_size=2000, replay_start=400, checkpoint_every=1000, num_workers=2, keep_checkpoints=2,
    )  # fmt: skip
    segments, published, lives, end = set(os.listdir("/dev/shm")), None, 0, time.monotonic() + 60 * MINUTES
    while time.monotonic() < end:
        with training(tmp_path, words) as run:
            if published is not None:
                assert int(run.wait_for(r"resumed at step ([\d,]+)").replace(",", "")) == published
            run.wait_for_checkpoint(2000 if published is None else published + 1000)
            process = psutil.Process(run.process.pid)
            workers, descriptors = process.children(recursive=True), process.num_fds()
            time.sleep(LIFE)
            assert process.num_fds() <= descriptors + 2, "a checkpoint may be half written"
            run.kill()
        _, alive = psutil.wait_procs(workers, 30)
        assert not alive
        before, published, lives = published or 0, steps(tmp_path / "checkpoints")[-1], lives + 1
        assert published > before
        assert found(tmp_path / "checkpoints")[0].step == published
    with training(tmp_path, words) as run:
        run.wait_for(r"resumed at step")
        run.process.send_signal(signal.SIGTERM)
        assert run.end() == 128 + signal.SIGTERM, run.said
    assert lives >= 2
    ends = np.loadtxt(tmp_path / "episodes.csv", delimiter=",", skiprows=1, ndmin=2)
    assert (np.diff(ends[:, 0]) >= 0).all()
    assert set(os.listdir("/dev/shm")) <= segments
