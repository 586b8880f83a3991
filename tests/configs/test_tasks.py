import math

import gymnasium as gym
import numpy as np
import pytest

from acer_tf.configs.presets import load_preset
from acer_tf.configs.tasks import MINUTES, Task, Traits, kinds, nearest, tasks
from acer_tf.errors import InputError
from acer_tf.packing import Packed
from benchmarks.tasks import learned


def test_the_file_has_what_the_results_have() -> None:
    expected = {env: (preset, results, numbers) for env, preset, results, numbers in learned()}
    assert {task.env: (task.preset, task.results) for task in tasks()} == {e: v[:2] for e, v in expected.items()}
    for task in tasks():
        np.testing.assert_allclose([*task.after, task.minutes, task.score], expected[task.env][2], rtol=1e-3)


def test_presets_of_the_file_exist_and_random_play_was_measured() -> None:
    assert len(tasks()) >= 20
    for task in tasks():
        load_preset(task.preset)
        assert len(task.after) == len(MINUTES)
        assert task.traits.episode >= 1 and task.traits.microseconds > 0 and task.score > task.traits.returned


@pytest.mark.parametrize(
    ("observations", "actions", "expected"),
    [
        (gym.spaces.Box(-1, 1, (8,)), gym.spaces.Discrete(4), ("vectors", "discrete")),
        (gym.spaces.Box(-1, 1, (3, 3)), gym.spaces.Box(-1, 1, (2,)), ("vectors", "continuous")),
        (gym.spaces.Box(0, 255, (10, 10, 4), np.uint8), gym.spaces.Discrete(6), ("small images", "discrete")),
        (gym.spaces.Box(0, 255, (84, 84, 4), np.uint8), gym.spaces.Discrete(6), ("images", "discrete")),
        (
            Packed({"speed": gym.spaces.Box(-1, 1, (3,)), "camera": gym.spaces.Box(0, 255, (84, 84, 3), np.uint8)}),
            gym.spaces.Discrete(6),
            ("images", "discrete"),
        ),
        (gym.spaces.Box(0, 255, (4, 96, 35, 3), np.uint8), gym.spaces.Discrete(6), ("small images", "discrete")),
    ],
)
def test_kinds(observations: gym.Space, actions: gym.Space, expected: tuple[str, str]) -> None:
    assert kinds(observations, actions) == expected


def test_channels_first_are_refused_as_networks_refuse_them() -> None:
    space = gym.spaces.Box(0, 255, (3, 84, 84), np.uint8)
    for observations in (space, Packed({"camera": space})):
        with pytest.raises(
            InputError, match=r"^observations have shape \(3, 84, 84\), in which channels come first; move"
        ):
            kinds(observations, gym.spaces.Discrete(6))


def task(env: str, observations: str, actions: str, episode: float, microseconds: float) -> Task:
    return Task(env, "mlp", "x", Traits(observations, actions, episode, microseconds, 0), (1, 2, math.nan), 9, 3)


TASKS = [
    task("short", "vectors", "discrete", 20, 10),
    task("long", "vectors", "discrete", 500, 10),
    task("slow", "vectors", "discrete", 500, 1000),
    task("image", "images", "discrete", 500, 10),
    task("robot", "vectors", "continuous", 1000, 50),
]


@pytest.mark.parametrize(
    ("observations", "actions", "episode", "microseconds", "expected"),
    [
        ("vectors", "discrete", 99, 10, "short"),  # 5.0 times as long as one, the other 5.05 times as long
        ("vectors", "discrete", 101, 10, "long"),
        ("vectors", "discrete", 500, 101, "slow"),
        ("images", "discrete", 20, 10, "image"),
        ("images", "continuous", 20, 10, "robot"),  # the actions decide where nothing has both
    ],
)
def test_the_nearest(observations: str, actions: str, episode: float, microseconds: float, expected: str) -> None:
    assert nearest(Traits(observations, actions, episode, microseconds, 0), TASKS).env == expected
