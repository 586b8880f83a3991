import contextlib

import gymnasium
import pytest

from acer_tf.envs.action_names import NAMES, action_names
from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.make import make_training_env, make_vec_env


@pytest.mark.parametrize(
    ("env_id", "names"),
    [
        ("CartPole-v1", ["left", "right"]),
        ("Pendulum-v1", ["torque"]),
        ("LunarLander-v3", ["nothing", "left engine", "main engine", "right engine"]),
        ("BreakoutNoFrameskip-v4", ["NOOP", "FIRE", "RIGHT", "LEFT"]),
        ("MinAtar/SpaceInvaders-v1", ["NOOP", "LEFT", "RIGHT", "FIRE"]),
        ("HalfCheetah-v5", ["bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"]),
        ("MountainCarContinuous-v0", ["0"]),
    ],
)
def test_names(env_id: str, names: list[str]) -> None:
    env = make_vec_env(env_id, 1)
    assert [*action_names(env)] == names
    env.close()


def test_the_table_names_every_action() -> None:
    for env_id, names in NAMES.items():
        with contextlib.closing(make_training_env(env_id, 1)) as env:
            assert tuple(action_names(env)) == names


def test_an_environment_with_other_actions_under_a_known_name_has_numbers() -> None:
    env = gymnasium.make("CartPole-v1")
    env = gymnasium.wrappers.TransformAction(env, lambda action: action % 2, gymnasium.spaces.Discrete(3))
    assert action_names(as_vector_env(env)) == ["0", "1", "2"]
