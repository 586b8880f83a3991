"""Findings of an experiment: its results, verdicts and cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from acer_tf.experiments.experiment import Environment, Experiment
from acer_tf.experiments.published import ReferenceRun, read_reference_runs
from acer_tf.experiments.results import Result, read
from acer_tf.experiments.verdicts import Results, Verdict, judge
from acer_tf.plots.runs import short_number
from acer_tf.system.console import counted

HOUR = 3600.0


class Cost(NamedTuple):
    """Time of an experiment, in hours, with runs one after the other.

    Attributes:
        spent: time of existing results.
        processor: processor time of the results that have it, in core hours.
        noted: number of results with processor time.
        left: estimated time of the missing runs.
    """

    spent: float
    processor: float
    noted: int
    left: float


class Findings(NamedTuple):
    """A complete experiment: its results so far, reference runs, and a verdict for each criterion and environment."""

    experiment: Experiment
    results: Results
    references: list[ReferenceRun]
    verdicts: list[Verdict]

    @property
    def runs(self) -> list[Result]:
        """All results."""
        return [result for group in self.results.values() for result in group]

    @property
    def groups(self) -> list[tuple[Environment, Sequence[Result]]]:
        """The results of every environment and variation with results, in the experiment's order."""
        e = self.experiment
        pairs = [(env, self.results.get((v.name, env.id), ())) for env in e.envs for v in e.variations]
        return [(env, group) for env, group in pairs if group]

    def shared(self, variation: str, env: Environment) -> list[Result]:
        """Returns the results with seeds that all environments share, for averages over environments."""
        seeds = self.experiment.seeds(env, min(e.seeds for e in self.experiment.envs))
        return [result for result in self.results[variation, env.id] if result.facts["seed"] in seeds]

    @property
    def has_evaluations(self) -> bool:
        """Whether any run was evaluated."""
        return any(len(result.evaluations.steps) for result in self.runs)

    @property
    def needed(self) -> int:
        """Number of runs in the complete experiment."""
        return sum(env.seeds for env in self.experiment.envs) * len(self.experiment.variations)

    @property
    def whole(self) -> int:
        """Number of needed runs that are complete."""
        seeds = {env.id: self.experiment.seeds(env) for env in self.experiment.envs}
        return sum(r.is_whole and r.facts["seed"] in seeds[r.facts["environment"]] for r in self.runs)


def read_results(folder: Path, experiment: Experiment) -> dict[tuple[str, str], list[Result]]:
    """Reads the kept results of an experiment by variation and environment, without seeds used for tuning.

    Raises:
        InputError: a file is damaged.
    """
    steps = {e.id: e.steps for e in experiment.envs}
    found: dict[tuple[str, str], list[Result]] = {(v.name, e): [] for v in experiment.variations for e in steps}
    for (variation, env, seed), result in sorted(read(folder).items()):
        is_reported = seed not in experiment.tuned_with and (variation, env) in found
        if is_reported and result.facts["steps"] == steps[env]:
            found[variation, env].append(result)
    return found


def find(experiment: Experiment, results: Results) -> Findings:
    """Judges an experiment.

    Raises:
        InputError: a reference cannot be read, or a library of statistics cannot be imported.
    """
    references = read_reference_runs(experiment)
    return Findings(experiment, results, references, judge(experiment, results, references))


def cost(found: Findings) -> Cost:
    """Returns the cost of the results, and an estimate for missing ones.

    The time of a missing run is taken from others of its variation and environment, if any.
    """
    spent = sum(float(result.facts["seconds"]) for result in found.runs)
    noted = [float(r.facts["processor_seconds"]) for r in found.runs if "processor_seconds" in r.facts]
    left = 0.0
    for variation in found.experiment.variations:
        for env in found.experiment.envs:
            group = found.results.get((variation.name, env.id), ())
            rates = [float(r.facts["seconds"]) / int(r.facts["trained"]) for r in group if r.is_whole]
            rate = float(np.mean(rates)) if rates else variation.slowdown / env.steps_per_second
            done = {r.facts["seed"]: min(int(r.facts["trained"]), env.steps) for r in group}
            left += sum(rate * (env.steps - done.get(seed, 0)) for seed in found.experiment.seeds(env))
    return Cost(spent / HOUR, sum(noted) / HOUR, len(noted), left / HOUR)


def summary_of_size(experiment: Experiment) -> str:
    """Returns the number and length of an experiment's runs, in a few words."""
    parts = (
        counted(len(experiment.envs), "environment"),
        counted(len(experiment.variations), "variation"),
        _range([env.seeds for env in experiment.envs], "seed"),
        _range([env.steps for env in experiment.envs], "step"),
    )
    return ", ".join(parts)


def _range(numbers: Sequence[int], noun: str) -> str:
    """Returns the lowest and highest number of things, such as 1k to 2.5M steps."""
    ends = dict.fromkeys((min(numbers), max(numbers)))
    return " to ".join(map(short_number, ends)) + f" {noun}{'' if [*ends] == [1] else 's'}"
