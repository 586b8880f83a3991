import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from acer_tf.envs.players import Player
from acer_tf.errors import InputError
from tests.counter import Counter
from tests.scripted import ScriptedEnv


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
    with pytest.raises(InputError, match="the environment is that of training"):
        other.enter(env)
    assert learner.enter(env), "nothing has been changed"
    learner.is_learning = False
    assert not other.enter(env)
