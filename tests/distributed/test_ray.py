"""Collectors on a real Ray, on a cluster of nodes on this machine; slow, as every process starts TensorFlow."""

import functools
import importlib.util
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from acer_tf.agent import ACER
from acer_tf.distributed.connection import connected
from acer_tf.envs.make import make_vec_env
from acer_tf.errors import InputError
from acer_tf.logs.logger import Logger
from tests.distributed.nodes import Nodes, nodes, variables

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is an extra"),
]

make_env = functools.partial(make_vec_env, "CartPole-v1", 2)
SETTINGS: dict[str, Any] = {
    "n_steps": 5, "replay_start": 10, "buffer_size": 50, "seed": 0, "replay_ratio": 1,
    "policy_kwargs": {"num_layers": 1, "num_hidden": 4}, "actors": 2, "actor_timeout": 10.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    """A cluster with a token: a head without processors, and two nodes with one each."""
    with (
        tempfile.TemporaryDirectory(prefix="acer-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patched,
    ):
        for name, value in variables(Path(folder)).items():
            patched.setenv(name, value)
        with nodes(Path(folder)) as started, connected(started.address):
            yield started


@pytest.fixture
def agent(cluster: Nodes) -> Iterator[ACER]:
    agent = ACER("mlp", make_env, ray_address=cluster.address, **SETTINGS)
    yield agent
    agent.close()


def pids(agent: ACER) -> list[int]:
    """Processes of the collectors, when all have begun."""
    import ray

    source = agent._training._collectors
    assert source is not None
    return list(ray.get([actor.__ray_call__.remote(lambda _: os.getpid()) for actor in source._fleet._actors]))  # type: ignore[attr-defined]


def train_until(agent: ACER, condition: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """Trains on until the metrics are so; returns them."""
    loop = agent._training._loop
    assert loop is not None
    metrics: dict[str, float] = {}

    def is_so() -> bool:
        metrics.update(loop._source.metrics())
        return condition(metrics)

    loop.learn(is_so, end=10**9, log_interval=10**9)
    return metrics


def delivers(agent: ACER, first_env: int) -> Callable[[dict[str, float]], bool]:
    loop = agent._training._loop
    assert loop is not None
    return lambda metrics: metrics["actors_alive"] == 2 and loop._source.first_env == first_env


def kill(agent: ACER, cluster: Nodes) -> list[int]:
    pid = pids(agent)[1]
    os.kill(pid, signal.SIGKILL)
    return [pid]


def stop(agent: ACER, cluster: Nodes) -> list[int]:
    pid = pids(agent)[1]
    os.kill(pid, signal.SIGSTOP)
    return [pid]


def remove_node(agent: ACER, cluster: Nodes) -> list[int]:
    """Removes the node on which the second collector runs; another takes its place in the cluster."""
    pid = pids(agent)[1]
    cluster.tell(f"remove {psutil.Process(pid).ppid()}")
    return [pid]


@pytest.mark.parametrize("fault", [kill, stop, remove_node])
def test_a_collector_that_is_lost_comes_back_three_times(
    agent: ACER, cluster: Nodes, fault: Callable[[ACER, Nodes], list[int]]
) -> None:
    agent.begin(Logger())
    train_until(agent, delivers(agent, 2))
    lost: list[int] = []
    for times in (1, 2, 3):
        lost += fault(agent, cluster)
        metrics = train_until(agent, lambda metrics, n=times: metrics["actors_replaced"] >= n)  # type: ignore[misc]
        metrics = train_until(agent, delivers(agent, 2))
        assert metrics["actors_replaced"] == times and metrics["actors_segments_dropped"] == 0
    loop = agent._training._loop
    assert loop is not None and loop.steps == loop.nbatch * loop.buffer.num_put
    agent.close()
    assert_gone(lost)


def assert_gone(processes: list[int]) -> None:
    """After ten seconds none of the processes runs."""
    end = time.monotonic() + 10
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in processes):
        assert time.monotonic() < end, "orphans"
        time.sleep(0.2)


def test_learning_in_python_and_what_is_refused(cluster: Nodes) -> None:
    agent = ACER("mlp", make_env, ray_address=cluster.address, **SETTINGS)
    with pytest.raises(InputError, match="actors collect steps in other processes, where callbacks cannot follow"):
        agent.learn(20, callback=lambda *_: True)
    agent.learn(100)
    assert agent.num_timesteps == 100
    agent.close()
    agent.learn(50, reset_num_timesteps=False)
    assert agent.num_timesteps == 150
    agent.close()
    greedy = ACER("mlp", make_env, ray_address=cluster.address, **(SETTINGS | {"actors": 3}))
    with pytest.raises(InputError, match="actors is 3, but the Ray cluster has 2 processors"):
        greedy.learn(10)
