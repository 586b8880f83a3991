"""Tasks that presets have learned: what they are like, and how long it took, from `tasks.csv`."""

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
"""Minutes of training after which the file has a return."""
SMALL = 36
"""Pixels: images with fewer in a side are too small for the convolutions of `cnn`."""


class Traits(NamedTuple):
    """What matters of a task for the choice of a preset.

    Attributes:
        observations: `vectors`, `small images` or `images`.
        actions: `discrete` or `continuous`.
        episode: agent steps of an episode of random play.
        microseconds: duration of an agent step of one environment.
        returned: mean raw return of an episode of random play.
    """

    observations: str
    actions: str
    episode: float
    microseconds: float
    returned: float


class Task(NamedTuple):
    """A task, and what a preset made of it, as a folder of docs/results has it.

    Attributes:
        env: environment id.
        preset: its name.
        results: name of the folder.
        traits: what it is like.
        after: mean raw return of the training episodes around each of `MINUTES`; nan after the end.
        minutes: of a whole run; mean over the seeds, as all of these.
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
    """Returns the kinds of observations and actions, as in `Traits`, of the spaces that training sees.

    Raises:
        InputError: channels of images come first, which no network for images takes.
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
    """Returns the task whose episodes are most alike in length and whose steps in duration, both as ratios.

    Of those with the same kinds of observations and actions; where there is none, of those with the same actions.
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
