import numpy as np

from acer_tf.envs.wrappers.base import map_final_obs, wrappers_of
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import ScaleRewards
from tests.scripted import ScriptedEnv


def test_only_last_observations_are_transformed() -> None:
    infos = {"final_obs": np.array([None, np.array([1.0, 2.0]), None], object), "other": 3}
    mapped = map_final_obs(infos, lambda env, obs: obs + env)
    assert mapped["other"] == 3 and list(mapped["final_obs"][[0, 2]]) == [None, None]
    np.testing.assert_array_equal(mapped["final_obs"][1], [2, 3])
    np.testing.assert_array_equal(infos["final_obs"][1], [1, 2])
    assert map_final_obs({"other": 3}, lambda env, obs: obs) == {"other": 3}


def test_wrappers_come_from_the_outside_in() -> None:
    env = ScriptedEnv(np.zeros((2, 1, 2)))
    inner = ScaleRewards(env, 2)
    outer = FrameStack(inner, 1)
    assert list(wrappers_of(outer)) == [outer, inner]
    assert list(wrappers_of(env)) == []
