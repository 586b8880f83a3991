from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import PassiveEnvChecker, TimeLimit

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.vector import SerialEnvs
from acer_tf.errors import InputError
from acer_tf.evaluation import evaluate_policy
from tests.counter import Always, Counter


class OldReset(Counter):
    """Half way from the old gym: no info."""

    def reset(self, **kwargs: Any) -> Any:
        return super().reset(**kwargs)[0]


class OldArguments(Counter):
    def reset(self) -> Any:  # type: ignore[override]
        return super().reset()


class OldStep(Counter):
    def step(self, action: int) -> Any:
        obs, reward, is_last, _, info = super().step(action)
        return obs, reward, is_last, info


class NoStep(Counter):
    def step(self, action: int) -> Any:
        return None


class ArrayStep(Counter):
    def step(self, action: int) -> Any:
        obs, reward, is_last, _, info = super().step(action)
        return obs, reward, np.array([is_last, False]), False, info


class OtherFlag(Counter):
    flag: Any

    def step(self, action: int) -> Any:
        obs, reward, _, _, info = super().step(action)
        return obs, reward, self.flag, False, info


class OtherError(Counter):
    def reset(self, **kwargs: Any) -> Any:
        raise TypeError("an error of its own")


class OfTheOldGym:
    """Not derived from gymnasium's class."""

    observation_space, action_space = Counter.observation_space, Counter.action_space

    def reset(self) -> Any: ...

    def step(self, action: Any) -> Any: ...


class NoSpaces(gymnasium.Env[Any, Any]):
    """Says nothing about its observations and actions."""


class NoneSpaces(NoSpaces):
    observation_space = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (OldReset(1), r"OldReset\.reset returned an ndarray instead of \(observation, info\); the old gym's returned"),
        (OldArguments(1), r"unexpected keyword argument 'seed'; gymnasium's is reset\(self, \*, seed=None, options="),
        (OldStep(1), r"OldStep\.step returned 4 values; gymnasium's returns \(observation, reward, terminated, trunc"),
        (
            PassiveEnvChecker(OldStep(1)),
            r"OldStep\.step returned other than five values \(.* got 4\)\); gym",
        ),
        (NoStep(1), r"NoStep\.step returned None; gymnasium's returns \(observation, reward, terminated, trunc"),
        (TimeLimit(NoStep(1), 9), r"NoStep\.step returned other than five values \(cannot unpack .*\); gymnasium's"),
        (ArrayStep(1), r"ArrayStep\.step returned terminated array\(\[.*\]\), truncated False; gymnasium's returns"),
        (
            OfTheOldGym(),
            r"a tests\.envs\.test_adapt\.OfTheOldGym, which is not a gymnasium\.Env; derive .* shimmy\.GymV21",
        ),
        (Counter, r"the environment is the class Counter; give an object of it: Counter\(\)"),
        (NoneSpaces(), r"NoneSpaces\.observation_space is None; expected one of gymnasium\.spaces"),
        (NoSpaces(), r"NoSpaces has no observation_space; set self\.observation_space in __init__, to one of gymnas"),
        (
            "CartPole-v1",
            r"the environment is the id 'CartPole-v1'; give environments: acer_tf\.envs\.make\.make_vec_env\(",
        ),
        (3, r"the environment is an int; expected a gymnasium\.vector\.VectorEnv, a gymnasium\.Env, or a VecEnv of"),
    ],
)
def test_what_must_change_is_told(env: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_policy(Always(), env, 1)


@pytest.mark.parametrize("flag", ["False", 0.3, float("nan"), None, [True, False], 2])
def test_an_episode_ends_by_true_or_false_alone(flag: Any) -> None:
    env = OtherFlag(3)
    env.flag = flag
    with pytest.raises(InputError, match=r"OtherFlag\.step returned terminated .*, truncated False; gymnasium's"):
        evaluate_policy(Always(), env, 1)


@pytest.mark.parametrize(("flag", "length"), [(np.True_, 1), (1, 1), (np.array([True]), 1), (0, 3), (0.0, 3)])
def test_numbers_may_say_true_or_false(flag: Any, length: int) -> None:
    env = OtherFlag(3)
    env.flag = flag
    assert evaluate_policy(Always(), TimeLimit(env, 3), 1, return_episode_rewards=True)[1] == [length]


def test_the_advice_for_the_old_gym_names_a_class_that_exists() -> None:
    shimmy = pytest.importorskip("shimmy", reason="shimmy needs Python 3.11 or 3.12 here")
    assert issubclass(shimmy.GymV21CompatibilityV0, gymnasium.Env)


def test_other_errors_are_the_environments_own() -> None:
    with pytest.raises(TypeError, match="an error of its own"):
        as_vector_env(OtherError(1)).reset()


def test_a_single_environment_is_one_of_a_vector() -> None:
    env = as_vector_env(Counter(1))
    assert isinstance(env, SerialEnvs) and env.num_envs == 1
    env.reset()
    np.testing.assert_array_equal(env.step(np.array([1]))[0], [[1]])
