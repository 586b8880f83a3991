"""Learning curves over all environments of an experiment, with returns on a common scale."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acer_tf.experiments.experiment import Window
from acer_tf.experiments.findings import Findings
from acer_tf.experiments.results import Result
from acer_tf.plots.series import Axis
from acer_tf.plots.statistics import Band, iqm_curve

POINTS = 20
"""Points of a curve."""


def aggregated(found: Findings, axis: Axis) -> dict[str, Band]:
    """Estimates each variation's interquartile mean over environments and seeds during training.

    In each environment, 0 is the mean return of all runs in the first twentieth, 1 the highest mean score of a
    variation. The axis `steps` is in percent of a run; `minutes` extends as far as all runs of a variation.

    Returns:
        The curves by variation; none if a run is missing, there is a single environment or variation, or no variation
        learns.
    """
    experiment = found.experiment
    if min(len(experiment.envs), len(experiment.variations)) < 2 or found.whole < found.needed:
        return {}
    shared = {v.name: [found.shared(v.name, env) for env in experiment.envs] for v in experiment.variations}
    scales = [scale(experiment.score, groups) for groups in zip(*shared.values(), strict=True)]
    if not all(low < high for low, high in scales):
        return {}
    bands: dict[str, Band] = {}
    for name, groups in shared.items():
        x = _places(groups, axis)
        values = [
            [(_at(x, result, axis) - low) / (high - low) for result in group]
            for group, (low, high) in zip(groups, scales, strict=True)
        ]
        bands[name] = iqm_curve(np.swapaxes(np.array(values), 0, 1), x)
    return bands


def scale(window: Window, groups: Sequence[Sequence[Result]]) -> tuple[float, float]:
    """Returns the mean return at the beginning and the highest mean score of a group: complete runs of a variation."""
    first = [_twentieths(result)[1][0] for group in groups for result in group]
    return float(np.mean(first)), max(float(np.mean([r.score(window) for r in group])) for group in groups)


def _places(groups: list[list[Result]], axis: Axis) -> NDArray[np.float64]:
    """Returns the places of the points of a variation's curve, in the unit of the axis."""
    if axis == "steps":
        return np.linspace(0, 100, POINTS + 1)[1:]
    shortest = min(float(result.training.seconds[-1]) for group in groups for result in group)
    return np.linspace(0, shortest / 60, POINTS + 1)[1:]


def _at(x: NDArray[np.float64], result: Result, axis: Axis) -> NDArray[np.float64]:
    """Returns the mean return of a run at places of the axis."""
    steps, means = _twentieths(result)
    if axis == "steps":
        return np.interp(x, steps / float(result.facts["steps"]) * 100, means)
    return np.interp(x, np.interp(steps, result.training.steps, result.training.seconds) / 60, means)


def _twentieths(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the ends of the twentieths of a run in which episodes ended, and the mean return in each."""
    ends = np.linspace(0, float(result.facts["steps"]), POINTS + 1)
    means = [(end, result.training.score(begin, end)) for begin, end in itertools.pairwise(ends)]
    steps, values = zip(*((end, mean) for end, mean in means if not math.isnan(mean)), strict=True)
    return np.array(steps), np.array(values)
