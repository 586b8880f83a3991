"""Environments in processes of their own: the same steps, errors with their traceback, and no process left behind."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from acer_tf.envs.ids import env_id
from acer_tf.envs.make import make_vec_env
from acer_tf.envs.vector import ParallelEnvs
from acer_tf.errors import EnvironmentFailedError
from tests.envs.atari.test_workers import is_alive
from tests.registered import registered

FAULTY = "Faulty-v0"


class Faulty(gymnasium.Env[Any, Any]):
    """Raises an error at a step, or hangs when it is closed."""

    observation_space = Box(-1, 1, (2,))
    action_space = Discrete(2)

    def __init__(self, fails_at: int = 3, hangs: bool = False) -> None:
        self._fails_at, self._hangs, self._steps = fails_at, hangs, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self._steps += 1
        if self._steps == self._fails_at:
            raise ArithmeticError("the simulator diverged")
        return np.zeros(2, np.float32), 0.0, False, False, {}

    def close(self) -> None:
        if self._hangs and multiprocessing.parent_process() is not None:
            signal.pause()


@pytest.fixture(autouse=True)
def faulty() -> Iterator[None]:
    with registered(FAULTY, f"{__name__}:Faulty"):
        yield


def test_steps_are_those_of_one_process() -> None:
    kinds = ("async", "sync")
    parallel, single = (make_vec_env("CartPole-v1", 3, vectorization=kind) for kind in kinds)
    assert isinstance(parallel.unwrapped, ParallelEnvs) and env_id(parallel) == "CartPole-v1"
    pids = [process.pid for process in parallel.unwrapped.processes]
    seeds: Any = [1, 2, 3]
    np.testing.assert_array_equal(parallel.reset(seed=seeds)[0], single.reset(seed=seeds)[0])
    rng, ends = np.random.default_rng(0), 0
    for _ in range(100):
        actions = rng.integers(0, 2, 3)
        (*arrays, infos), (*expected, expected_infos) = parallel.step(actions), single.step(actions)
        for array, other in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(array, other)
            assert array.dtype == other.dtype
        assert infos.keys() == expected_infos.keys()
        if "final_obs" in infos:
            ends += 1
            for final, other in zip(infos["final_obs"], expected_infos["final_obs"], strict=True):
                np.testing.assert_array_equal(final, other)
    assert ends > 3
    parallel.close()
    assert not any(map(is_alive, pids))


def test_an_error_has_the_traceback_of_the_process() -> None:
    env = make_vec_env(FAULTY, 2, vectorization="async", env_kwargs={"fails_at": 2})
    pids = [process.pid for process in env.unwrapped.processes]
    env.reset(seed=0)
    env.step(np.zeros(2, np.int64))
    with pytest.raises(EnvironmentFailedError, match=r"(?s)environment [01] raised an error.*Traceback.*in step") as e:
        env.step(np.zeros(2, np.int64))
    assert "ArithmeticError: the simulator diverged" in str(e.value)
    env.close()
    assert not any(map(is_alive, pids))


def test_a_dead_process_is_reported_and_one_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_vec_env(FAULTY, 2, vectorization="async", env_kwargs={"hangs": True})
    pids = [process.pid for process in env.unwrapped.processes]
    env.reset(seed=0)
    os.kill(pids[1], signal.SIGKILL)
    with pytest.raises(EnvironmentFailedError, match="died: that of environment 1 with exit code -9"):
        env.step(np.zeros(2, np.int64))
    env.close()

    monkeypatch.setattr("acer_tf.envs.vector.CLOSE_SECONDS", 0.5)
    env = make_vec_env(FAULTY, 1, vectorization="async", env_kwargs={"hangs": True})
    pids += [process.pid for process in env.unwrapped.processes]
    env.reset(seed=0)
    env.close()
    assert not any(map(is_alive, pids))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_starts_beside_the_threads_of_tensorflow() -> None:
    """A forked process that inherits a lock held by one of those threads would hang here."""
    import tensorflow as tf

    product = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    numbers, is_over = tf.ones((200, 200)), threading.Event()

    def compute() -> None:
        while not is_over.is_set():
            product(numbers)

    busy = threading.Thread(target=compute)
    busy.start()
    try:
        for _ in range(50):
            env = make_vec_env("CartPole-v1", 2, vectorization="async")
            env.reset(seed=0)
            obs, *_ = env.step(np.array([0, 1]))
            assert obs.shape == (2, 4)
            processes = env.unwrapped.processes
            env.close()
            assert [process.is_alive() for process in processes] == [False, False]
    finally:
        is_over.set()
        busy.join()
