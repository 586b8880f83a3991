from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from acer_tf.envs.make import make_vec_env
from acer_tf.envs.wrappers.single_envs import SingleEnvs, with_env_methods
from acer_tf.errors import InputError


class Market(gym.Wrapper):
    def __init__(self, fee: float = 0.0) -> None:
        super().__init__(gym.make("CartPole-v1"))
        self.fee = fee

    def raised(self, by: float, times: int = 1) -> float:
        self.fee += by * times
        return self.fee


def sync() -> VectorEnv:
    return SyncVectorEnv([Market] * 3, autoreset_mode=AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("make", [lambda: make_vec_env(Market, 3), sync])
def test_single_environments_are_reached(make: Callable[[], VectorEnv]) -> None:
    env = SingleEnvs(make())
    assert env.get_attr("fee") == [0, 0, 0] and env.get_attr("length", [2, 0]) == [0.5, 0.5]
    env.set_attr("fee", 2.0)
    env.set_attr("fee", 5.0, indices=1)
    assert env.get_attr("fee") == [2, 5, 2]
    env.set_attr("fee", [1, 2, 3], indices=[-1])
    assert env.get_attr("fee") == [2, 5, [1, 2, 3]], "the same value for each, a list as well"
    env.set_attr("fee", 4.0, indices=[0, 0, 0])
    assert env.get_attr("fee") == [4, 5, [1, 2, 3]], "one index several times is still one environment"
    env.set_attr("fee", 1.0)
    assert env.env_method("raised", 1, times=2) == [3, 3, 3]
    assert env.env_method("raised", 1, indices=[1]) == [4] and env.get_attr("fee") == [3, 4, 3]
    assert len(env.unwrapped.envs) == env.num_envs == 3
    assert env.reset(seed=0)[0].shape == (3, 4)
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.no_such_thing  # noqa: B018


def test_all_else_is_the_vector_environments() -> None:
    assert len(SingleEnvs(sync()).envs) == 3


def test_processes_answer_together() -> None:
    env = SingleEnvs(make_vec_env("CartPole-v1", 2, vectorization="async"))
    env.set_attr("gravity", 1.5, indices=[1])
    assert env.get_attr("gravity") == [9.8, 1.5]
    assert np.shape(env.env_method("get_wrapper_attr", "state")) == (2,)
    with pytest.raises(
        InputError, match="environments in separate processes are called all at once; leave indices out"
    ):
        env.env_method("get_wrapper_attr", "state", indices=0)
    env.close()


def test_environments_that_are_one() -> None:
    env = SingleEnvs(VectorEnv())
    with pytest.raises(InputError, match="a VectorEnv gives no access to single environments"):
        env.get_attr("fee")
    other = object()
    assert with_env_methods(other) is other
