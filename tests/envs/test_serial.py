from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import acer_tf.envs.minatar  # noqa: F401  (registers the games)
from acer_tf.envs.parallel import Maker
from acer_tf.envs.serial import SerialEnvs

NENVS = 3


def makers(env_id: str, **kwargs: Any) -> list[Maker]:
    return [Maker(gymnasium.spec(env_id), kwargs)] * NENVS


def assert_equal(one: Any, other: Any) -> None:
    """Compares nested returns: structures, types, dtypes and bits."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), [other[name] for name in one]
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for part, other_part in zip(one, other, strict=True):
            assert_equal(part, other_part)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype == object:
            assert_equal(one.tolist(), other.tolist())
        else:
            assert one.tobytes() == other.tobytes()
    else:
        assert one == other


@pytest.mark.parametrize(
    ("env_id", "kwargs", "steps"),
    [
        ("CartPole-v1", {}, 400),
        ("CartPole-v1", {"max_episode_steps": 15}, 100),
        ("Pendulum-v1", {}, 250),
        ("MountainCarContinuous-v0", {"max_episode_steps": 9}, 40),
        ("Taxi-v4", {}, 250),
        ("Blackjack-v1", {}, 60),
        ("MinAtar/Breakout-v1", {}, 150),
    ],
)
def test_steps_equal_those_of_gymnasium_to_the_bit(env_id: str, kwargs: dict[str, Any], steps: int) -> None:
    own, plain = (
        SerialEnvs(makers(env_id, **kwargs)),
        SyncVectorEnv(makers(env_id, **kwargs), autoreset_mode=AutoresetMode.SAME_STEP),
    )
    assert own.metadata == plain.metadata
    seeds = [5, 7, 2**31]
    assert_equal(own.reset(seed=seeds), plain.reset(seed=seeds))
    own.action_space.seed(0)
    ended, kept = 0, []
    for _ in range(steps):
        actions = own.action_space.sample()
        returned = own.step(actions), plain.step(actions)
        assert_equal(*returned)
        kept.append(returned)
        ended += int((returned[0][2] | returned[0][3]).sum())
    assert ended >= NENVS
    for one, other in kept:  # no step overwrote what another returned
        assert_equal(one, other)


class Wrong(gymnasium.Env[Any, Any]):
    """Returns another observation than its space's."""

    action_space = Discrete(2)
    observation_space = Box(-1, 1, (3,), np.float32)

    def __init__(self, obs: Any) -> None:
        self._obs = obs

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return np.zeros(3, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._obs, 0.0, False, False, {}


@pytest.mark.parametrize("obs", [np.zeros(1, np.float32), np.zeros(3, np.complex64), np.zeros((1, 3), np.float32)])
def test_observations_of_another_shape_or_kind_are_errors_as_in_gymnasium(obs: Any) -> None:
    for envs in (
        SerialEnvs([Maker(Wrong, {"obs": obs})] * 2),
        SyncVectorEnv([lambda: Wrong(obs)] * 2, autoreset_mode=AutoresetMode.SAME_STEP),
    ):
        envs.reset(seed=[0, 1])
        with pytest.raises((ValueError, TypeError)):
            envs.step(np.zeros(2, np.int64))
        with pytest.raises(ValueError, match="zip"):
            envs.step(np.zeros(1, np.int64))
