from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from acer_tf.envs.make import make_training_env
from acer_tf.envs.reports import reported_episodes, reports_episodes


def cartpole() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("CartPole-v1")


def recorded() -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.FlattenObservation(RecordEpisodeStatistics(cartpole()))


def sync(make: Callable[[], gymnasium.Env[Any, Any]]) -> SyncVectorEnv:
    return SyncVectorEnv([make] * 2, autoreset_mode=AutoresetMode.SAME_STEP)


def test_reads_them_from_the_top_and_from_final_info() -> None:
    report = {"episode": {"r": np.array([0.0, 7.5]), "l": np.array([0, 3])}, "_episode": np.array([False, True])}
    assert list(reported_episodes(report)) == [(1, 7.5, 3)]
    assert list(reported_episodes({"final_info": report, "other": 1})) == [(1, 7.5, 3)]
    assert list(reported_episodes({"episode": np.array([3, 4]), "_episode": np.array([True, True])})) == []
    assert list(reported_episodes({"final_info": {}})) == list(reported_episodes({})) == []


@pytest.mark.parametrize("make, expected", [(cartpole, False), (recorded, True)])
def test_knows_single_environments_that_report(make: Callable[[], gymnasium.Env[Any, Any]], expected: bool) -> None:
    assert reports_episodes(sync(make)) is expected
    processes = AsyncVectorEnv([make] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    assert reports_episodes(processes) is expected
    processes.close()


def test_knows_vector_environments_that_report() -> None:
    assert reports_episodes(RecordVectorStatistics(sync(cartpole)))
    assert reports_episodes(make_training_env("CartPole-v1", 2))
    assert reports_episodes(make_training_env("PongNoFrameskip-v4", 2))


def test_what_a_single_environment_reports_is_read() -> None:
    env = sync(recorded)
    env.reset(seed=0)
    found: list[tuple[int, float, int]] = []
    for _ in range(30):
        *_, infos = env.step(np.array([0, 0]))
        found += reported_episodes(infos)
    assert found
    assert all(raw_return == length for _, raw_return, length in found)  # CartPole gives 1 for every step
