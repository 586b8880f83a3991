"""The pictures on an experiment's page: learning curves of every environment, and over all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from acer_tf.experiments.aggregate import aggregated
from acer_tf.experiments.collecting import BINS
from acer_tf.experiments.findings import Findings
from acer_tf.experiments.published import to_draw
from acer_tf.experiments.results import Floats, Result
from acer_tf.plots.curves import Curve, mean_or_each, run_curve
from acer_tf.plots.figures import View, figure_of_bands, figure_of_curves
from acer_tf.plots.references import ReferenceLine
from acer_tf.plots.series import Axis
from acer_tf.plots.style import rendered, styled

PICTURES: Mapping[Axis, tuple[str, str]] = {
    "steps": ("curves.png", "Mean raw return over agent steps"),
    "minutes": ("curves-minutes.png", "The same over minutes of training"),
}
"""File and title of the learning curves."""
X_LABELS: Mapping[Axis, str] = {"steps": "% of the agent steps of a run", "minutes": "minutes of training"}
MOST_CURVES = 12
"""Most variations in a panel, as more could not be told apart."""


class Picture(NamedTuple):
    """A PNG file and its title."""

    name: str
    title: str
    content: bytes


def draw(found: Findings) -> list[Picture]:
    """Draws the learning curves, those of evaluations if any, and the aggregate over all environments.

    Raises:
        InputError: matplotlib is not installed.
    """
    axes: list[Axis] = ["steps", "minutes"] if found.experiment.over_time else ["steps"]
    choice = f" ({MOST_CURVES} highest of each environment)" if len(found.experiment.variations) > MOST_CURVES else ""
    with styled():
        pictures = [Picture(*PICTURES[axis], drawn) for axis in axes if (drawn := _curves(found, axis))]
        if any(len(result.evaluations.steps) > 1 for result in found.runs):
            title = "Mean raw return of evaluations over agent steps"
            pictures.append(Picture("evaluations.png", title, _evaluation_curves(found)))
        pictures = [picture._replace(title=picture.title + choice) for picture in pictures]
        bands = {X_LABELS[axis]: aggregated(found, axis) for axis in axes}
        if all(bands.values()):
            drawn = rendered(figure_of_bands(bands, "normalised return"), ".png")
            pictures.append(Picture("aggregate.png", "Normalised return over all environments", drawn))
    return pictures


def _curves(found: Findings, axis: Axis) -> bytes | None:
    """Draws training returns, with the references unless runs have evaluations; returns None without a curve."""
    curves = _mean_curves(found, lambda result: _training(result, axis))
    if not curves:
        return None
    if axis != "steps":
        return rendered(figure_of_curves(curves, View(axis=axis)), ".png")
    shown = {c.env for c in curves}
    widths = tuple(e.steps / BINS for e in found.experiment.envs if e.id in shown)
    references = [] if found.has_evaluations else _references(found, curves)
    return rendered(figure_of_curves(curves, View(widths=widths), references), ".png")


def _evaluation_curves(found: Findings) -> bytes:
    curves = _mean_curves(found, _evaluations)
    return rendered(figure_of_curves(curves, View("eval"), _references(found, curves)), ".png")


def _mean_curves(found: Findings, curve: Callable[[Result], Curve | None]) -> list[Curve]:
    """Returns the mean curves to draw, one for each variation and environment, in the order of environments."""
    order = [e.id for e in found.experiment.envs]
    groups = sorted(found.results.items(), key=lambda item: order.index(item[0][1]))
    by_group = [[c for r in averaged(group) if (c := curve(r)) is not None] for _, group in groups if group]
    return highest([drawn for curves in by_group if curves for drawn in mean_or_each(curves)])


def highest(curves: Sequence[Curve]) -> list[Curve]:
    """Returns each environment's `MOST_CURVES` curves that are highest in their last tenth, in the same order."""
    ends = [float(np.mean(c.mean[-math.ceil(len(c.mean) / 10) :])) for c in curves]
    best_first = sorted(range(len(curves)), key=lambda i: -ends[i])
    places = {env: [i for i in best_first if curves[i].env == env] for env in {c.env for c in curves}}
    return [c for i, c in enumerate(curves) if i in places[c.env][:MOST_CURVES]]


def _references(found: Findings, curves: Sequence[Curve]) -> list[ReferenceLine]:
    """Returns the references of the drawn environments, up to the longest run in each."""
    trained = {c.env: [int(r.facts["trained"]) for r in found.runs if r.facts["environment"] == c.env] for c in curves}
    return to_draw(found.experiment, found.references, {env: max(steps) for env, steps in trained.items()})


def averaged(group: Sequence[Result]) -> list[Result]:
    """Returns the runs to draw as a mean, which ends with the shortest of them.

    These are the complete runs or, if there are none, those at least half as long as the longest.
    """
    longest = max(int(result.facts["trained"]) for result in group)
    whole = [result for result in group if result.is_whole]
    return whole or [result for result in group if int(result.facts["trained"]) >= longest / 2]


def _training(result: Result, axis: Axis) -> Curve | None:
    """Returns the curve of the bins within a run, or within its trained part; None without any."""
    returns = result.training
    ended = returns.steps <= int(result.facts["trained"])
    x = returns.steps if axis == "steps" else returns.seconds / 60
    return _curve(result, x[ended], returns.mean[ended], returns.episodes[ended])


def _evaluations(result: Result) -> Curve | None:
    return _curve(result, *result.evaluations[:3])


def _curve(result: Result, x: Floats, mean: Floats, episodes: Floats) -> Curve | None:
    variation, env, _ = result.key
    return run_curve(env, variation, x, mean, episodes) if len(x) else None
