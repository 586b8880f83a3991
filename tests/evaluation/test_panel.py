import contextlib

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.evaluation.episodes import Moment
from acer_tf.evaluation.explanation import Explanation
from acer_tf.evaluation.panel import (
    ACTION_NAMES,
    BAR,
    BOTTOM,
    LEFT,
    PICTURE,
    RIGHT,
    ROWS,
    SIZE,
    TAKEN,
    TRACK,
    Panel,
    action_names,
)

PICTURE_OF = np.full((20, 40, 3), 200, np.uint8)


class Many(gymnasium.Env[NDArray[np.float32], int]):
    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)

    def __init__(self, space: gymnasium.Space) -> None:
        self.action_space = space


def panel(space: gymnasium.Space) -> Panel:
    return Panel(SyncVectorEnv([lambda: Many(space)], autoreset_mode=AutoresetMode.SAME_STEP))


def moment(action: object, begins: bool = False) -> Moment:
    return Moment(np.zeros((1, 1)), None, np.array([begins]), np.array([action]), np.array([12.0]))


def is_colour(image: NDArray[np.uint8], colour: tuple[int, int, int]) -> NDArray[np.bool_]:
    return (image == np.array(colour, np.uint8)).all(axis=-1)


def choices(probabilities: list[float], q: list[float], v: float = 0.0) -> Explanation:
    return Explanation(np.array([probabilities]), np.array([v]), np.array([q]))


def test_the_picture_is_on_the_left_as_large_as_it_fits() -> None:
    image = panel(gymnasium.spaces.Discrete(2)).draw(PICTURE_OF, choices([0.5, 0.5], [0, 0]), moment(0))
    assert image.shape == (*SIZE, 3) and image.dtype == np.uint8
    shown = is_colour(image[:, :PICTURE], (200, 200, 200))
    assert shown.any(axis=0).all() and shown.sum() == PICTURE * PICTURE // 2


def test_bars_are_as_long_as_the_probabilities_and_the_action_taken_is_marked() -> None:
    image = panel(gymnasium.spaces.Discrete(3)).draw(PICTURE_OF, choices([0.75, 0.2, 0.05], [1, 2, 3]), moment(1))
    rows = image[ROWS[0] : ROWS[0] + 3 * 28, PICTURE:]
    bars = [is_colour(rows[28 * i : 28 * i + 28], BAR).sum(axis=1).max() for i in range(3)]
    taken = [is_colour(rows[28 * i : 28 * i + 28], TAKEN)[7].sum() for i in range(3)]
    whole = bars[0] + is_colour(rows[:28], TRACK)[14].sum()
    assert abs(bars[0] - 0.75 * whole) <= 1 and abs(bars[2] - 0.05 * whole) <= 1
    assert taken[0] == taken[2] == 0 and abs(taken[1] - 0.2 * whole) <= 1


@pytest.mark.parametrize("space", [gymnasium.spaces.MultiDiscrete([3, 2]), gymnasium.spaces.MultiDiscrete([[3, 2]])])
def test_a_joint_action_is_marked_where_its_choices_are(space: gymnasium.spaces.MultiDiscrete) -> None:
    drawn = panel(space)
    assert drawn._names == ["0,0", "0,1", "1,0", "1,1", "2,0", "2,1"]
    taken = np.array([2, 0]).reshape(space.shape)
    image = drawn.draw(PICTURE_OF, choices([0.1, 0.1, 0.1, 0.1, 0.5, 0.1], [0.0] * 6), moment(taken))
    marked = is_colour(image[ROWS[0] : ROWS[1]], TAKEN).any(axis=1).nonzero()[0]
    of_row = (marked.min() + marked.max()) / 2 / drawn._row_height
    assert int(of_row) == 4, "the fifth of six"


def test_a_continuous_action_has_its_mean_sigma_and_the_number_taken_on_the_range() -> None:
    space = gymnasium.spaces.Box(np.array([-1, 0], np.float32), np.array([1, 4], np.float32))
    explanation = Explanation((np.array([[0.0, 1.0]]), np.array([[0.5, 0.5]])), np.array([0.0]), None)
    image = panel(space).draw(PICTURE_OF, explanation, moment([0.9, 3.0]))
    left, right = LEFT + 72, RIGHT - 142
    for row, (low, high, dot) in enumerate([(0.25, 0.75, 0.95), (0.125, 0.375, 0.75)]):
        line = image[ROWS[0] + 28 * row + 22, left:right]  # the last of the bar
        bar = np.flatnonzero(is_colour(line, BAR)) / (right - left)
        np.testing.assert_allclose([bar.min(), bar.max()], [low, high], atol=0.02)
        marked = is_colour(image[ROWS[0] + 28 * row : ROWS[0] + 28 * row + 28, left : right + 5], TAKEN)
        assert abs(np.flatnonzero(marked.any(axis=0)).mean() / (right - left) - dot) < 0.02


def test_v_is_drawn_over_time_between_its_extremes() -> None:
    drawn = panel(gymnasium.spaces.Discrete(2))
    for step, v in enumerate([0.0, 1.0, 5.0, 2.0]):
        image = drawn.draw(PICTURE_OF, choices([0.5, 0.5], [0, 0], v), moment(0, begins=step == 2))
    top = ROWS[0] + 2 * 28 + 44
    curve = is_colour(image[top - 2 : BOTTOM + 3, LEFT : RIGHT - 46], BAR)
    columns = np.flatnonzero(curve.any(axis=0))
    assert len(columns) <= 10  # four steps of the two hundred that fit
    heights = [np.flatnonzero(curve[:, x]).mean() for x in (columns[0] + 1, columns[-1] - 1)]
    assert heights[1] < heights[0]  # 2 is above 0
    assert is_colour(image[top + 5 : BOTTOM - 5, LEFT:RIGHT], TRACK).all(axis=0).sum() <= 1  # where the episode began


@pytest.mark.parametrize("count", [1, 18, 19, 300])
def test_any_number_of_actions_fits(count: int) -> None:
    image = panel(gymnasium.spaces.Discrete(count)).draw(
        PICTURE_OF, choices([1 / count] * count, [0] * count), moment(count - 1)
    )
    rows = is_colour(image[ROWS[0] : ROWS[1]], TRACK) | is_colour(image[ROWS[0] : ROWS[1]], TAKEN)
    assert rows.any() and image.shape == (*SIZE, 3)
    curve = is_colour(image[ROWS[1] + 30 :], TRACK) | is_colour(image[ROWS[1] + 30 :], BAR)
    assert curve.any()


def test_a_single_environment_of_gymnasium_is_named() -> None:
    env = as_vector_env(gymnasium.make("CartPole-v1"))
    assert Panel(env).draw(PICTURE_OF, choices([0.5, 0.5], [0, 0]), moment(0)).shape == (*SIZE, 3)


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
    for env_id, names in ACTION_NAMES.items():
        with contextlib.closing(make_training_env(env_id, 1)) as env:
            assert tuple(action_names(env)) == names


def test_an_environment_with_other_actions_under_a_known_name_has_numbers() -> None:
    env = gymnasium.make("CartPole-v1")
    env = gymnasium.wrappers.TransformAction(env, lambda action: action % 2, gymnasium.spaces.Discrete(3))
    assert action_names(as_vector_env(env)) == ["0", "1", "2"]
