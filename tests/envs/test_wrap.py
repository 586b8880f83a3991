from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, MultiBinary
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.envs.wrap import stacked, training_env, unwrap
from acer_tf.envs.wrappers.base import wrappers_of
from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.joint_actions import JointActions
from acer_tf.errors import InputError


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


class Switches(gymnasium.Env[Any, Any]):
    observation_space, action_space = Box(0, 1, (2,)), MultiBinary(2)


@pytest.mark.parametrize(
    ("make", "wrapper"), [(lambda: gymnasium.make("Pendulum-v1"), BoxActions), (Switches, JointActions)]
)
def test_stacked_frames_without_mapped_actions_are_refused(make: Callable[[], Any], wrapper: type[Any]) -> None:
    plain = SyncVectorEnv([make], autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(InputError, match=f"put {wrapper.__name__} between the two"):
        stacked(FrameStack(plain, 1))
    env = FrameStack(wrapper(plain), 1)
    assert stacked(env) is env
    assert isinstance(stacked(plain).env, wrapper)


def names(env: Any) -> list[str]:
    return [type(wrapper).__name__ for wrapper in wrappers_of(env)]


ALL = {"normalize_observations": True, "normalize_rewards": True, "reward_scale": 0.5, "gamma": 0.9}


def test_an_id_an_environment_and_a_vector_get_the_same_wrappers() -> None:
    make = [lambda: gymnasium.make("Pendulum-v1")]
    given = (make_vec_env("Pendulum-v1"), make[0](), SyncVectorEnv(make, autoreset_mode=AutoresetMode.SAME_STEP))
    envs = [make_training_env("Pendulum-v1", 1, **ALL), *(training_env(env, **ALL) for env in given)]
    expected = ["NormalizeRewards", "NormalizeObservations", "ScaleRewards", "RecordEpisodeStatistics"]
    for env in envs:
        assert [name for name in names(env) if name != "CheckedReturns"] == ["FrameStack", "BoxActions", *expected]
    results = [(env.reset(seed=1)[0].copy(), env.step(np.full((1, 1), 0.5, np.float32))[:2]) for env in envs]
    for reset, (obs, rewards) in results[1:]:
        np.testing.assert_array_equal(reset, results[0][0])
        np.testing.assert_array_equal(obs, results[0][1][0])
        np.testing.assert_array_equal(rewards, results[0][1][1])


@pytest.mark.parametrize("again", [{}, ALL])
def test_wrappers_that_the_environment_has_are_not_added_again(again: dict[str, Any]) -> None:
    env = training_env(make_vec_env("FrozenLake-v1"), **ALL)
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
    with pytest.raises(InputError, match=r"is an int; expected a gymnasium\.vector\.VectorEnv, a gymnasium\.Env, or"):
        training_env(3)
    with pytest.raises(InputError, match="reward_scale is inf"):
        training_env(make_vec_env("CartPole-v1"), reward_scale=float("inf"))


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
