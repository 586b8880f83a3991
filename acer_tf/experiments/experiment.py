"""The parts of an experiment."""

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from acer_tf.schema import Count, Fraction, Number, Positive, PositiveOrInfinite, Text

Window = Annotated[tuple[Fraction, Fraction], Meta(description="two fractions of a run, such as [0.9, 1]")]
"""Beginning and end of a part of a run, as fractions of the run's steps."""

Seeds = Annotated[int, Meta(ge=1, le=1000, description="a whole number >= 1 and <= 1000")]
"""Number of seeds."""


class Environment(NamedTuple):
    """A task of an experiment.

    Attributes:
        id: environment id.
        preset: settings where no flag says otherwise.
        steps: agent steps of a run.
        flags: flags of the training command, by name; a variation's flags come after them.
        steps_per_second: agent steps per second of one run, roughly, for the estimate of costs.
        seeds: number of runs per variation.
    """

    id: str
    preset: Text
    steps: Count
    flags: Mapping[str, Any]
    steps_per_second: Positive
    seeds: Seeds

    def part(self, window: Window) -> tuple[float, float]:
        """Returns the agent steps at which a part of a run begins and ends."""
        begin, end = window
        return begin * self.steps, end * self.steps


class Variation(NamedTuple):
    """Settings to compare with others.

    Attributes:
        name: name of the variation, and of the folder of its runs.
        flags: flags of the training command, by name.
        slowdown: factor on the time of a run, for the estimate of costs.
    """

    name: str
    flags: Mapping[str, Any] = {}
    slowdown: Positive = 1.0


class Reference(NamedTuple):
    """Published results to compare with.

    Attributes:
        label: its name in plots and tables.
        source: where it comes from.
        numbers: final mean return by environment.
        curves: CSV file with the columns environment, seed, steps, mean_return, episodes; None without curves.
        same_seeds: whether its curves must have the seeds of the experiment's runs; until they do, its criteria are
            incomplete.
    """

    label: Text
    source: Text
    numbers: Mapping[str, Number] = {}
    curves: Annotated[Path | None, Meta(description="the name of a CSV file")] = None
    same_seeds: bool = False


class Criterion(NamedTuple):
    """A condition for being reproduced, judged in each environment (`better`: over all of them).

    Attributes:
        kind: `same`: equivalent to a reference or to another variation (two one-sided tests); `reaches`: the mean over
            seeds, or every seed, is at least a value; `better`: a run of the variation probably scores higher than one
            of another variation, by more than a margin.
        variation: name of the variation to judge.
        envs: ids of the environments in which to judge it.
        window: part of each run whose mean return is its score.
        of: kind of score: the mean over the episodes of `training` in the window; the `area` below the learning curve
            in the window; `area_of_minutes`, the area below the curve over minutes until the first of all compared runs
            ends; the mean return of the `evaluations` in the window; or the mean of the run's `last_100` episodes.
        reference: label of the reference, for `same`; empty if `than` is given.
        margin: largest difference from the others' mean that counts as none, as a share of what they have learned:
            their mean in the last tenth of their longest runs, minus that of random play. For `better`, the required
            lead, as a share of what the variation itself has learned.
        values: values by environment, for `reaches`.
        every_seed: whether `reaches` is judged by the lowest seed instead of the mean.
        minutes: longest training that `reaches` allows a run; infinite without a limit.
        than: the other variation, for `better` and `same`.
    """

    kind: Literal["same", "reaches", "better"]
    variation: Text
    envs: Annotated[tuple[Text, ...], Meta(description="a list of environments")]
    window: Window
    of: Literal["training", "area", "area_of_minutes", "evaluations", "last_100"] = "training"
    reference: Text = ""
    margin: Fraction = 0.0
    values: Mapping[str, Number] = {}
    every_seed: bool = False
    minutes: PositiveOrInfinite = math.inf
    than: Text = ""


class Experiment(NamedTuple):
    """A claim, the runs that test it, and what counts as reproduced.

    Attributes:
        name: name of the file, without its suffix.
        title: heading of its report.
        claim: the claim to reproduce.
        source: who claims it, and where.
        note: what readers of its report have to know.
        envs: the tasks.
        variations: the settings to compare.
        first_seed: the seed of the first run of each environment and variation.
        tuned_with: seeds with which the settings were chosen, which no run of the experiment uses.
        score: window of the score in tables.
        over_time: whether to draw curves also over minutes.
        references: published results.
        random: mean return of random play, by environment; for Atari games it is known.
        criteria: what counts as reproduced.
    """

    name: str
    title: str
    claim: str
    source: str
    note: str
    envs: tuple[Environment, ...]
    variations: tuple[Variation, ...]
    first_seed: int
    tuned_with: tuple[int, ...]
    score: Window
    over_time: bool
    references: tuple[Reference, ...]
    random: Mapping[str, float]
    criteria: tuple[Criterion, ...]

    def seeds(self, env: Environment, number: int | None = None) -> tuple[int, ...]:
        """Returns the seeds of an environment's runs, the same for every variation: its own number, or `number`."""
        fresh = (seed for seed in itertools.count(self.first_seed) if seed not in self.tuned_with)
        return tuple(itertools.islice(fresh, number or env.seeds))
