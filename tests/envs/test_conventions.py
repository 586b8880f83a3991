from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.conventions import Player, environment_seeds, reported_episodes, reports_episodes
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from tests.counter import Counter
from tests.scripted import ScriptedEnv


def test_gymnasiums_vector_environments_get_a_seed_per_environment() -> None:
    env = make_training_env("CartPole-v1", 3)
    seeds = environment_seeds(env, 10)
    assert seeds == np.random.SeedSequence(10).generate_state(3).tolist()
    singles = [gymnasium.make("CartPole-v1") for _ in range(3)]
    expected = [single.reset(seed=seed)[0] for single, seed in zip(singles, seeds, strict=True)]
    np.testing.assert_array_equal(env.reset(seed=seeds)[0], expected)
    np.testing.assert_array_equal(env.reset()[0], [single.reset()[0] for single in singles])


def test_asynchronous_ones_too() -> None:
    env = AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1")], autoreset_mode=AutoresetMode.SAME_STEP)
    try:
        assert len(environment_seeds(env, 0)) == 1
    finally:
        env.close()


def test_runs_share_no_seed() -> None:
    env = make_training_env("CartPole-v1", 16)
    seeds = [seed for run in range(100) for seed in environment_seeds(env, run)]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize(
    "env", [ScriptedEnv(np.zeros((1, 2, 3))), AtariPool("PongNoFrameskip-v4", 2)], ids=["other", "pool"]
)
def test_other_environments_get_the_number(env: gymnasium.vector.VectorEnv) -> None:
    assert environment_seeds(env, 7) == 7


def test_no_seed_stays_none() -> None:
    assert environment_seeds(make_training_env("CartPole-v1", 2), None) is None


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


def vector(*envs: gymnasium.Env) -> SyncVectorEnv:
    return SyncVectorEnv([lambda env=env: env for env in envs], autoreset_mode=AutoresetMode.SAME_STEP)


def test_who_was_there_last() -> None:
    shared, own = Counter(1), Counter(2)
    env = vector(shared, own)
    first, second = Player(), Player()
    assert not first.enter(env)
    assert first.enter(env) and first.enter(env)
    assert not second.enter(vector(TimeLimit(shared, 9)))  # the same environment in other wrappers
    assert not first.enter(env)
    assert first.enter(env)
    assert not second.enter(vector(Counter(2)))
    assert first.enter(env)
    Player().enter(env)  # is forgotten, but not that somebody was there
    assert not first.enter(env)


def test_nobody_enters_where_another_learns() -> None:
    env = ScriptedEnv(np.zeros((3, 1, 2)))
    learner, other = Player(), Player()
    learner.enter(env)
    learner.is_learning = True
    assert learner.enter(env)
    with pytest.raises(InputError, match="the environment is being used for training"):
        other.enter(env)
    assert learner.enter(env), "nothing has been changed"
    learner.is_learning = False
    assert not other.enter(env)


def test_an_environment_that_has_the_address_of_one_of_training_is_another() -> None:
    """As in a curriculum, whose stages have environments of their own."""
    learner = Player()
    learner.is_learning = True
    addresses = set()
    for _ in range(200):
        env = Counter(1)
        addresses.add(id(env))
        learner.enter(vector(env))
        del env
        other = vector(Counter(1))
        Player().enter(other)
        addresses.add(id(other.envs[0]))
        del other
    assert len(addresses) < 200, "no address was used again"
