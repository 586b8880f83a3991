from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.check import check_vec_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError

OBSERVATION, ACTION = Box(0, 1, (3,)), Discrete(2)


def vec_env(observation: Any = OBSERVATION, action: Any = ACTION, mode: Any = AutoresetMode.SAME_STEP) -> VectorEnv:
    env: VectorEnv = VectorEnv()
    env.single_observation_space, env.single_action_space, env.num_envs = observation, action, 1
    env.metadata = {} if mode is None else {"autoreset_mode": mode}
    return env


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float32, np.float64])
def test_accepts(dtype: Any) -> None:
    env = vec_env(Box(0, 1, (3,), dtype))
    check_vec_env(env)
    check_vec_env(FrameStack(env, 2))


@pytest.mark.parametrize(
    "space", [Discrete(5), MultiDiscrete([2, 3]), Box(0, 1, ()), Dict(a=OBSERVATION, b=Discrete(2))]
)
def test_accepts_observations_that_can_be_flattened(space: Any) -> None:
    check_vec_env(vec_env(space))


@pytest.mark.parametrize("space", [Box(-2, 2, (1,)), Box(0, 1, ()), Box(-1, 3, (2, 3), np.float64)])
def test_accepts_finite_boxes(space: Box) -> None:
    check_vec_env(vec_env(action=space))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (vec_env(action=Box(-np.inf, 1, (2,))), "action space is an unbounded Box; expected finite bounds"),
        (vec_env(action=Box(-1e308, 1e308, (2,), np.float64)), "action space is an unbounded Box"),
        (vec_env(action=Box(0, 1, (0,))), r"actions are a Box of shape \(0,\); expected one number at least"),
        (
            vec_env(action=Box(np.array([0, 1]), np.array([1, 1]), dtype=np.float32)),
            r"low < high in .*; leave .* gymnasium\.ActionWrapper",
        ),
        (vec_env(action=Box(0, 5, (2,), np.int64)), "a Box of type int64; expected floating point numbers"),
        (vec_env(action=MultiDiscrete([64, 65])), "has 4,160 joint actions; expected at most 4,096"),
        (
            vec_env(action=Dict(a=ACTION)),
            r"action space is a Dict; expected Discrete, MultiDiscrete, .*; make it .* in a gymnasium\.ActionWrapper",
        ),
        (vec_env(action=Discrete(3, start=1)), "actions start at 1; expected Discrete with start 0"),
        (vec_env(Text(5)), "observation space is a Text; expected Box, Discrete, MultiDiscrete or MultiBinary"),
        (vec_env(mode=None), "autoreset mode is None; make it with"),
        (vec_env(mode=AutoresetMode.NEXT_STEP), "autoreset mode is NEXT_STEP; make it with"),
        (vec_env(mode=AutoresetMode.DISABLED), "autoreset mode is DISABLED; make it with"),
        (gymnasium.make("CartPole-v1"), "is a single one; wrap it as gymnasium.vector.SyncVectorEnv"),
        ("CartPole-v1", "is a str; expected a gymnasium.vector.VectorEnv"),
    ],
)
def test_refuses(env: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_vec_env(env)


def test_advice_for_make_vec_works() -> None:
    with pytest.raises(InputError, match="NEXT_STEP") as caught:
        check_vec_env(gymnasium.make_vec("CartPole-v1", 2))
    advice = 'gymnasium.make_vec(id, n, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})'
    assert advice in str(caught.value)
    vector_kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    check_vec_env(gymnasium.make_vec("CartPole-v1", 2, "sync", vector_kwargs=vector_kwargs))


def test_advice_for_other_actions_works() -> None:
    steps = gymnasium.make("CartPole-v1")
    later = gymnasium.wrappers.TransformAction(steps, lambda action: action - 1, Discrete(2, start=1))
    with pytest.raises(InputError, match=r"TransformAction\(env, lambda action: action \+ 1, Discrete\(2\)\)\.$"):
        as_vector_env(later)
    env = as_vector_env(gymnasium.wrappers.TransformAction(later, lambda action: action + 1, Discrete(2)))
    env.reset(seed=0)
    env.step(np.array([0]))

    pendulum = gymnasium.make("Pendulum-v1")
    whole = gymnasium.wrappers.TransformAction(pendulum, lambda action: action / 2, Box(-4, 4, (1,), np.int64))
    with pytest.raises(
        InputError, match=r'\(env, lambda action: action\.round\(\)\.astype\("int64"\), Box\(low, high\)\)\.$'
    ):
        as_vector_env(whole)
    rounded = gymnasium.wrappers.TransformAction(whole, lambda action: action.round().astype("int64"), Box(-4, 4, (1,)))
    env = as_vector_env(rounded)
    env.reset(seed=0)
    env.step(np.array([[1.6]], np.float32))


def test_advice_for_unbounded_actions_works() -> None:
    env = gymnasium.make("Pendulum-v1")
    unbounded = gymnasium.wrappers.TransformAction(env, lambda action: action, Box(-np.inf, np.inf, (1,)))

    def vector(single: gymnasium.Env[Any, Any]) -> SyncVectorEnv:
        return SyncVectorEnv([lambda: single], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)

    with pytest.raises(InputError, match=r"gymnasium\.wrappers\.TransformAction\(env, lambda action: action, Box"):
        check_vec_env(vector(unbounded))
    check_vec_env(vector(gymnasium.wrappers.TransformAction(unbounded, lambda action: action, Box(-2, 2, (1,)))))


@pytest.mark.parametrize("bound", [3.4e38, 1e20])
def test_bounds_near_the_largest_number_are_as_good_as_none(bound: float) -> None:
    env = gymnasium.make("MountainCarContinuous-v0")  # its reward holds the square of the action
    unbounded = gymnasium.wrappers.TransformAction(env, lambda action: action, Box(-bound, bound, (1,)))
    with pytest.raises(
        InputError, match=r"unbounded Box in effect: its bounds reach \S+e\+\d\d; expected finite bounds"
    ):
        as_vector_env(unbounded)
    large = gymnasium.wrappers.TransformAction(env, lambda action: action, Box(-1e18, 1e18, (1,)))
    vector_env = as_vector_env(large)
    vector_env.reset(seed=0)
    assert np.isfinite(np.float32(vector_env.step(np.array([[1e18]], np.float32))[1])).all()


def test_advice_for_next_step_works() -> None:
    with pytest.raises(InputError, match="NEXT_STEP"):
        check_vec_env(SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")]))
    check_vec_env(
        SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    )
