from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.wrap import training_env
from acer_tf.envs.wrappers.action_masks import MASKS, ActionMasks, possible_actions, with_action_masks
from acer_tf.errors import InputError


class Clock(gym.Env[Any, Any]):
    """At time t the only possible action is t % 3; episodes last `length` steps. `action_masks` says so."""

    observation_space, action_space = Box(0, 100, (1,)), Discrete(3)

    def __init__(self, length: int = 4) -> None:
        self.length = length

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        assert action == self.t % 3, "an impossible action"
        self.t += 1
        return np.full(1, self.t, np.float32), 1.0, self.t >= self.length, False, {}

    def action_masks(self) -> Any:
        return np.arange(3) == self.t % 3


def vector(**kwargs: Any) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: Clock(**kwargs)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("kind", ["single", "vector"])
def test_the_method_is_reported_in_the_infos_also_after_an_episode_ends(kind: str) -> None:
    env = as_vector_env(Clock() if kind == "single" else vector())
    _, infos = env.reset()
    for t in range(9):
        assert {tuple(row) for row in infos[MASKS].astype(int)} == {tuple((np.arange(3) == t % 4 % 3).astype(int))}
        *_, infos = env.step(infos[MASKS].argmax(axis=1))


def test_the_mask_of_the_last_state_is_that_of_the_episode_that_ended() -> None:
    env = as_vector_env(Clock(length=1))
    env.reset()
    *_, infos = env.step(np.array([0]))
    np.testing.assert_array_equal(infos["final_info"][MASKS], [[False, True, False]])
    np.testing.assert_array_equal(infos[MASKS], [[True, False, False]])


def test_wrapping_twice_is_wrapping_once() -> None:
    env = as_vector_env(vector())
    assert with_action_masks(env) is env
    single = as_vector_env(Clock())
    assert as_vector_env(single) is single


def test_environments_without_masks_are_left_alone() -> None:
    plain = gym.make_vec("CartPole-v1", 2, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    assert as_vector_env(plain).unwrapped is plain and not isinstance(as_vector_env(plain), ActionMasks)


class TwoWheels(Clock):
    """Its dimensions have masks of their own, one after the other."""

    action_space = MultiDiscrete([3, 2])

    def step(self, action: Any) -> Any:
        assert tuple(action) == (self.t % 3, self.t % 2)
        return super().step(action[0])

    def action_masks(self) -> Any:
        return np.concatenate([np.arange(3) == self.t % 3, np.arange(2) == self.t % 2])


class Tuples(TwoWheels):
    """Its masks have the form of gymnasium's `MultiDiscrete.sample`; with `is_method` False they are in the infos."""

    def __getattribute__(self, name: str) -> Any:
        if name == "action_masks" and not self.is_method:
            raise AttributeError(name)
        return super().__getattribute__(name)

    def __init__(self, length: int = 4, is_method: bool = True) -> None:
        super().__init__(length)
        self.is_method = is_method

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        obs, _ = super().reset(seed=seed)
        return obs, {} if self.is_method else {MASKS: self.possible()}

    def step(self, action: Any) -> Any:
        *results, _ = super().step(action)
        return *results, {} if self.is_method else {MASKS: self.possible()}

    def possible(self) -> tuple[Any, Any]:
        return (np.arange(3) == self.t % 3).astype(np.int8), (np.arange(2) == self.t % 2).astype(np.int8)

    def action_masks(self) -> Any:
        return self.possible()


@pytest.mark.parametrize("is_method", [True, False])
@pytest.mark.parametrize("is_vector", [True, False])
def test_masks_may_be_tuples_of_those_of_the_dimensions(is_method: bool, is_vector: bool) -> None:
    """In gymnasium's own vector environments, too, which gather them as objects."""
    singles = [lambda: Tuples(8, is_method)] * 2
    env = training_env(SyncVectorEnv(singles, autoreset_mode=AutoresetMode.SAME_STEP) if is_vector else singles[0]())
    _, infos = env.reset()
    for t in range(10):
        masks = possible_actions(infos, env.num_envs, Tuples.action_space)
        np.testing.assert_array_equal(masks.nonzero()[1], [t % 8 % 3 * 2 + t % 8 % 2] * env.num_envs)
        *_, infos = env.step(masks.argmax(axis=1))


def test_masks_of_dimensions_become_masks_of_joint_actions() -> None:
    env = training_env(TwoWheels(length=8))
    assert env.single_action_space == Discrete(6)
    _, infos = env.reset()
    for _ in range(10):
        masks = possible_actions(infos, 1, TwoWheels.action_space)
        assert masks.sum() == 1
        *_, infos = env.step(masks.argmax(axis=1))


def test_masks_that_do_not_fit_are_told() -> None:
    with pytest.raises(InputError, match=r"the action masks have shape \(2, 4\); expected \(2, 3\)"):
        possible_actions({MASKS: np.ones((2, 4))}, 2, Discrete(3))
    with pytest.raises(InputError, match="environment 1 gives no action mask; expected one at every reset and step"):
        possible_actions({MASKS: np.ones((2, 3)), f"_{MASKS}": np.array([True, False])}, 2, Discrete(3))
    with pytest.raises(InputError, match="environment 1 leaves no action possible"):
        possible_actions({MASKS: np.array([[0, 1, 0], [0, 0, 0]])}, 2, Discrete(3))
    with pytest.raises(InputError, match=r"masks have shape \(1, 0\); expected \(1, 3\)"):
        possible_actions({MASKS: [()]}, 1, Discrete(3))
    with pytest.raises(InputError, match=r"masks have 2 and 3 numbers; expected \(2, 3\) \(environments, actions\)"):
        possible_actions({MASKS: [[0, 1, 0], [0, 1]]}, 2, Discrete(3))
    with pytest.raises(InputError, match=r"shape \(1, 6\); expected \(1, 5\) \(environments, choices of all dim"):
        possible_actions({MASKS: [[1, 0, 1, 1, 0, 0]]}, 1, MultiDiscrete([2, 3]))  # that of joint actions
    with pytest.raises(InputError, match="set action_masks to False to ignore them"):
        possible_actions({MASKS: np.ones((2, 3))}, 2, Box(-1, 1, (3,)))


def test_taxis_masks_are_used_as_they_are() -> None:
    env = training_env(gym.make("Taxi-v4"))
    _, infos = env.reset(seed=1)
    masks = possible_actions(infos, 1, env.single_action_space)
    assert masks.dtype == np.bool_ and 0 < masks.sum() < 6
