from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.make import make_training_env, stacked, training_env, unwrap
from acer_tf.envs.wrappers.base import wrappers_of
from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError


def test_atari_has_four_frames_of_the_pool() -> None:
    env = make_training_env("PongNoFrameskip-v4", 2, num_workers=0)
    pool = AtariPool("PongNoFrameskip-v4", 2, num_workers=0)
    assert isinstance(env.unwrapped, AtariPool)
    stacked, _ = env.reset(seed=5)
    frames, _ = pool.reset(seed=5)
    assert stacked.shape == env.observation_space.shape == (2, 84, 84, 4)
    assert stacked.dtype == np.uint8
    np.testing.assert_array_equal(stacked[..., 3:], frames)
    assert (stacked[..., :3] == 0).all()
    previous = frames.copy()
    stacked = env.step([2, 3])[0]
    np.testing.assert_array_equal(stacked[..., 2:], np.concatenate([previous, pool.step([2, 3])[0]], axis=-1))
    env.close()


def test_time_limit_reaches_the_games() -> None:
    env = make_training_env("PongNoFrameskip-v4", 1, num_workers=0, max_episode_frames=60)
    env.reset(seed=0)
    assert any(env.step([0])[3][0] for _ in range(16))


def test_other_environments_have_one_frame_and_gymnasiums_episode_statistics() -> None:
    env = make_training_env("CartPole-v1", 3)
    obs, _ = env.reset(seed=0)
    assert env.nstack == 1
    assert obs.shape == (3, 4) and obs.dtype == np.float32
    steps = np.zeros(3, int)
    for _ in range(30):
        obs, _, terminations, truncations, infos = env.step(np.ones(3, int))
        steps += 1
        done = terminations | truncations
        if done.any():
            np.testing.assert_array_equal(infos["_episode"], done)
            np.testing.assert_array_equal(infos["episode"]["l"], np.where(done, steps, 0))
            np.testing.assert_array_equal(infos["episode"]["r"], np.where(done, steps, 0))
            assert (np.abs(obs[done]) <= 0.05).all()  # already the start of the next episode
            steps[done] = 0
    assert done.shape == (3,)


def test_keeps_the_dtype_of_the_observations() -> None:
    class Doubles(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float64)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **kwargs: Any) -> Any:
            return np.array([1e-12, 1.0]), {}

    gymnasium.register("Doubles-v0", Doubles)
    try:
        obs, _ = make_training_env("Doubles-v0", 1).reset()
    finally:
        del gymnasium.registry["Doubles-v0"]
    assert obs.dtype == np.float64
    np.testing.assert_array_equal(obs, [[1e-12, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env_id": "Breakot"}, "the nearest are BreakoutNoFrameskip-v4"),
        ({"env_id": "Pendulum-v1", "reward_scale": 0.0}, "reward_scale is 0.0; expected a finite number > 0"),
        ({"env_id": "Pendulum-v1", "reward_scale": float("nan")}, "reward_scale is nan"),
        ({"env_id": "PongNoFrameskip-v4", "normalize_observations": True}, "Atari games have their own wrappers"),
        ({"env_id": "PongNoFrameskip-v4", "normalize_rewards": True}, "Atari games have their own wrappers"),
        ({"env_id": "ALE/Breakout-v5"}, "use BreakoutNoFrameskip-v4"),
        ({"env_id": "json:Env-v0"}, "would import a module"),
        ({"num_env": 0}, "num_env is 0; expected a whole number >= 1"),
        ({"num_env": -3}, "num_env is -3; expected a whole number >= 1"),
        ({"num_env": 1.5}, "num_env is 1.5; expected a whole number >= 1"),
        ({"num_env": True}, "num_env is True; expected a whole number >= 1"),
        ({"num_env": "4"}, "num_env is 4; expected a whole number >= 1"),
        ({"num_workers": -1}, "num_workers is -1; expected a whole number >= 0"),
        ({"max_episode_frames": -5}, "max_episode_frames is -5; expected a whole number >= 0"),
    ],
)
def test_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_training_env(**{"env_id": "CartPole-v1", "num_env": 1, **arguments})


@pytest.mark.parametrize("kind", [gymnasium.error.DependencyNotInstalled, ModuleNotFoundError])
def test_missing_packages_are_told(kind: type[Exception]) -> None:
    def entry_point() -> None:
        raise kind("pygame is not installed, run `pip install pygame`")

    gymnasium.register("NeedsMore-v0", entry_point)
    try:
        with pytest.raises(InputError, match=r"environment 'NeedsMore-v0' cannot be made: .*pip install pygame"):
            make_training_env("NeedsMore-v0", 1)
    finally:
        del gymnasium.registry["NeedsMore-v0"]


def test_continuous_actions_are_mapped_and_rewards_scaled_but_not_in_recorded_returns() -> None:
    env = make_training_env("Pendulum-v1", 2, reward_scale=0.1, normalize_observations=True)
    raw = make_training_env("Pendulum-v1", 2)
    for other in (env, raw):
        other.reset(seed=0)
    total, actions = np.zeros(2), np.full((2, 1), 0.25, np.float32)
    for _ in range(200):
        obs, rewards, _, truncations, infos = env.step(actions)
        raw_obs, raw_rewards, *_ = raw.step(actions)
        np.testing.assert_allclose(rewards, 0.1 * raw_rewards, rtol=1e-6)
        total += raw_rewards
    assert truncations.all()
    np.testing.assert_allclose(infos["episode"]["r"], total, rtol=1e-5)
    assert np.abs(obs).max() < 10 and (obs != raw_obs).all()


def test_stacked_frames_without_mapped_actions_are_refused() -> None:
    make = [lambda: gymnasium.make("Pendulum-v1")]
    plain = SyncVectorEnv(make, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(InputError, match="put BoxActions between the two"):
        stacked(FrameStack(plain, 1))
    env = FrameStack(BoxActions(plain), 1)
    assert stacked(env) is env
    assert isinstance(stacked(plain).env, BoxActions)


def names(env: Any) -> list[str]:
    return [type(wrapper).__name__ for wrapper in wrappers_of(env)]


ALL = {"normalize_observations": True, "normalize_rewards": True, "reward_scale": 0.5, "gamma": 0.9}


def test_an_id_an_environment_and_a_vector_get_the_same_wrappers() -> None:
    make = [lambda: gymnasium.make("Pendulum-v1")]
    given = ("Pendulum-v1", make[0](), SyncVectorEnv(make, autoreset_mode=AutoresetMode.SAME_STEP))
    envs = [make_training_env("Pendulum-v1", 1, **ALL), *(training_env(env, **ALL) for env in given)]
    expected = ["NormalizeRewards", "NormalizeObservations", "ScaleRewards", "RecordEpisodeStatistics"]
    for env in envs:
        assert names(env) == ["FrameStack", "BoxActions", *expected]
    results = [(env.reset(seed=1)[0].copy(), env.step(np.full((1, 1), 0.5, np.float32))[:2]) for env in envs]
    for reset, (obs, rewards) in results[1:]:
        np.testing.assert_array_equal(reset, results[0][0])
        np.testing.assert_array_equal(obs, results[0][1][0])
        np.testing.assert_array_equal(rewards, results[0][1][1])


@pytest.mark.parametrize("again", [{}, ALL])
def test_wrappers_that_the_environment_has_are_not_added_again(again: dict[str, Any]) -> None:
    env = training_env("FrozenLake-v1", **ALL)
    once = names(env)
    assert names(training_env(env, **again)) == once
    assert once[1:] == [
        "NormalizeRewards",
        "NormalizeObservations",
        "ScaleRewards",
        "FlattenObservations",
        "RecordEpisodeStatistics",
    ]


def test_unwrapping_keeps_what_the_environment_is() -> None:
    single = gymnasium.make("FrozenLake-v1")
    own = as_vector_env(single)
    unwrapped = unwrap(training_env(own, **ALL))
    assert names(unwrapped) == ["RecordEpisodeStatistics"] and unwrapped.unwrapped is own
    assert unwrapped.single_observation_space == single.observation_space
    stack = FrameStack(as_vector_env(gymnasium.make("CartPole-v1")), 2)
    assert unwrap(stack) is stack, "the agent sees frames stacked"


def test_what_is_no_environment_cannot_be_trained_in() -> None:
    with pytest.raises(InputError, match=r"is a int; expected a gymnasium\.vector\.VectorEnv, a gymnasium\.Env, or"):
        training_env(3)
    with pytest.raises(InputError, match="reward_scale is inf"):
        training_env("CartPole-v1", reward_scale=float("inf"))


def test_choices_are_one_hot_and_normalised_after_that() -> None:
    env = make_training_env("FrozenLake-v1", 3)
    obs, _ = env.reset(seed=0)
    np.testing.assert_array_equal(obs, np.eye(16)[[0, 0, 0]])
    assert obs.dtype == np.uint8
    obs, _ = make_training_env("Blackjack-v1", 2, normalize_observations=True).reset(seed=0)
    assert (obs.dtype, obs.shape) == (np.float32, (2, 32 + 11 + 2))


def test_normalised_rewards_leave_recorded_returns_alone() -> None:
    env, raw = (make_training_env("CartPole-v1", 2, normalize_rewards=kind, gamma=0.5) for kind in (True, False))
    for other in (env, raw):
        other.reset(seed=0)
    returns, seen = np.zeros(2), []
    for t in range(40):
        (_, rewards, _, _, infos), (_, expected, ended, _, raw_infos) = (each.step([t % 2, 1]) for each in (env, raw))
        returns = 0.5 * returns + expected
        seen.append(returns.copy())
        np.testing.assert_allclose(rewards, np.minimum(10, expected / np.sqrt(np.var(seen) + 1e-8)))
        returns[ended] = 0
        if "episode" in raw_infos:
            np.testing.assert_array_equal(infos["episode"]["r"], raw_infos["episode"]["r"])
    assert len({tuple(row) for row in seen}) > 3


def test_tasks_of_the_control_suite_are_one_array() -> None:
    pytest.importorskip("shimmy")
    env = make_training_env("dm_control/cartpole-swingup-v0", 2)
    obs, _ = env.reset(seed=[3, 4])
    assert obs.shape == (2, 5)  # position 3, velocity 2
    same, _ = env.reset(seed=[3, 4])
    np.testing.assert_array_equal(obs, same)
    env.close()
