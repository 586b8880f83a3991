"""Hours in small: what would run out in the end is measured while it is still little."""

import gc
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from acer_tf.agent import ACER
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.learning import make_model_and_loop
from acer_tf.logs.files import EpisodesCsv, ProgressCsv
from acer_tf.logs.logger import Logger
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.training.checkpointer import Checkpointer

WARM = 60_000
STEPS = 260_000


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_memory_and_descriptors_do_not_grow_once_replay_is_full(tmp_path: Path) -> None:
    """With logs and checkpoints; less than 1 MB in 100,000 steps, in a process that no other test has run in."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        steps, memory, descriptors = pool.submit(train, tmp_path).result()
    slope = np.polyfit(steps, memory, 1)[0] * 1e5 / 2**20
    assert slope < 1, f"{slope:.2f} MB in 100,000 steps"
    assert descriptors.max() == descriptors.min()
    assert len(list((tmp_path / "checkpoints").glob("step-*"))) <= 3
    assert len(list((tmp_path / "checkpoints" / "replay").iterdir())) < 10


def train(folder: Path) -> np.ndarray:
    """Trains; returns agent steps, bytes of memory and open descriptors, [3, K], from the warm-up's end on."""
    config = Config(nsteps=20, total_timesteps=STEPS, buffer_size=2000, replay_start=500, replay_ratio=1)
    logger = Logger([ProgressCsv(folder / "progress.csv"), EpisodesCsv(folder / "episodes.csv")])
    acer = make_model_and_loop(
        "mlp", make_training_env("CartPole-v1", 4), 0, config, logger, num_layers=1, num_hidden=16
    )
    checkpoints = CheckpointStore(folder / "checkpoints", 2, None)
    saver = Checkpointer(acer, checkpoints, seed=0, every=4000, is_exact=True, settings={}, origin={})
    process, seen = psutil.Process(), []

    def after_iteration() -> bool:
        saver.after_iteration()
        if acer.steps >= WARM and acer.steps % 4000 == 0:
            seen.append((acer.steps, process.memory_info().rss, len(os.listdir("/proc/self/fd"))))
        return False

    saver.begin()
    acer.learn(after_iteration)
    return np.array(seen, np.float64).T


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_agents_that_are_dropped_leave_little_behind(env: str) -> None:
    """Less than 0.5 MB each of those made, trained and dropped in one process, as a search does."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        memory = pool.submit(drop_agents, env, 40).result()
    slope = np.polyfit(np.arange(len(memory)), memory, 1)[0] / 2**20
    assert slope < 0.5, f"{slope:.2f} MB an agent"


def drop_agents(env: str, number: int) -> list[int]:
    """Makes, trains and drops agents; returns the bytes of memory after each but the first ten."""
    process, seen = psutil.Process(), []
    for seed in range(number):
        agent = ACER("mlp", env, seed=seed, buffer_size=200, replay_start=40)
        agent.learn(200)
        agent.predict(agent.env.reset()[0])
        del agent
        gc.collect()
        seen.append(process.memory_info().rss)
    return seen[10:]
