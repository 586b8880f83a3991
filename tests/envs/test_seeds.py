import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.make import make_training_env
from acer_tf.envs.seeds import environment_seeds, next_seed
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


def test_lost_games_get_seeds_of_their_own() -> None:
    seeds = np.random.SeedSequence(0).generate_state(16, np.uint64).tolist()
    for _ in range(10):
        seeds += [next_seed(seed) for seed in seeds[-16:]]
    assert len(set(seeds)) == 16 * 11
    assert next_seed(5) == next_seed(5)
