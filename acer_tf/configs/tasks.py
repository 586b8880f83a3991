"""Tasks that presets have learned: their traits, and how long learning took, from `tasks.csv`."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from acer_tf.errors import InputError
from acer_tf.packing import Packed

FILE = Path(__file__).with_name("tasks.csv")
MINUTES = (1, 5, 20)
"""Minutes of training for which the file has a return."""
SMALL = 36
"""Fewest pixels in each side of an image for the convolutions of `cnn`."""


class Traits(NamedTuple):
    """The traits of a task that matter for the choice of a preset.

    Attributes:
        observations: `vectors`, `small images` or `images`.
        actions: `discrete` or `continuous`.
        episode: agent steps of an episode of random play.
        microseconds: duration of an agent step in one environment.
        returned: mean raw return of an episode of random play.
    """

    observations: str
    actions: str
    episode: float
    microseconds: float
    returned: float


class Task(NamedTuple):
    """A task and a preset's results on it, from a folder of docs/results; numbers are means over seeds.

    Attributes:
        env: environment id.
        preset: name of the preset.
        results: name of the folder.
        traits: traits of the task.
        after: mean raw return of the training episodes around each of `MINUTES`; nan after the end.
        minutes: duration of a complete run.
        score: mean raw return in the last tenth of a run.
    """

    env: str
    preset: str
    results: str
    traits: Traits
    after: tuple[float, ...]
    minutes: float
    score: float


def kinds(observations: gym.Space[Any], actions: gym.Space[Any]) -> tuple[str, str]:
    """Returns the kinds of observations and actions, as in `Traits`, for the spaces that training sees.

    Raises:
        InputError: channels of images come first, which no network for images accepts.
    """
    images = observations.images.values() if isinstance(observations, Packed) else [observations]
    shape = max((image.shape or () for image in images), key=len)
    if len(shape) == 3 and shape[0] <= 4 < min(shape[1:]):
        raise InputError(
            f"observations have shape {shape}, in which channels come first; move them to the end, "
            "np.moveaxis(image, 0, -1), in a wrapper of the environment."
        )
    if len(shape) < 3:
        seen = "vectors"
    else:
        seen = "small images" if min(shape[-3:-1]) < SMALL else "images"
    return seen, "continuous" if isinstance(actions, gym.spaces.Box) else "discrete"


def tasks() -> list[Task]:
    """Reads the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [_task(*row) for row in list(csv.reader(file))[1:]]


def nearest(traits: Traits, among: Sequence[Task]) -> Task:
    """Returns the task with the most similar length of episodes and duration of steps, both as ratios.

    It chooses from tasks with the same kinds of observations and actions or, if there are none, the same actions.
    """
    same_actions = [task for task in among if task.traits.actions == traits.actions]
    alike = [task for task in same_actions if task.traits.observations == traits.observations]
    return min(alike or same_actions, key=lambda task: _distance(task.traits, traits))


def _distance(one: Traits, other: Traits) -> float:
    pairs = ((one.episode, other.episode), (one.microseconds, other.microseconds))
    return sum(abs(math.log(a / b)) for a, b in pairs)


def _task(env: str, preset: str, results: str, observations: str, actions: str, *numbers: str) -> Task:
    episode, microseconds, returned, *after, minutes, score = (float(n) if n else math.nan for n in numbers)
    traits = Traits(observations, actions, episode, microseconds, returned)
    return Task(env, preset, results, traits, tuple(after), minutes, score)
