"""The page of an experiment: verdicts, tables, curves, cost and seeds, made of the kept results alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from acer_tf.experiments.aggregate import aggregated
from acer_tf.experiments.findings import Findings, cost
from acer_tf.experiments.references import to_draw
from acer_tf.experiments.results import BINS, CURVES, SEEDS, Floats, Result, locked, replace_files
from acer_tf.experiments.tables import evaluation_table, has_evaluations, score_table, under_way_table
from acer_tf.experiments.verdicts import overall
from acer_tf.plots.curves import Curve, mean_curve
from acer_tf.plots.figures import View, figure_of_bands, figure_of_curves
from acer_tf.plots.references import ReferenceLine
from acer_tf.plots.series import Axis
from acer_tf.plots.style import rendered, styled

PAGE = "README.md"
PICTURES: Mapping[Axis, str] = {"steps": "curves.png", "minutes": "curves-minutes.png"}
X_LABELS: Mapping[Axis, str] = {"steps": "% of the agent steps of a run", "minutes": "minutes of training"}
TITLES: Mapping[Axis, str] = {
    "steps": "Mean raw return over agent steps",
    "minutes": "The same over minutes of training",
}
MOST_CURVES = 12
"""Variations in a panel; more could not be told apart."""
EVALUATIONS, EVALUATIONS_TITLE = "evaluations.png", "Mean raw return of evaluations over agent steps"


def write_page(folder: Path, found: Findings, command: str) -> None:
    """Writes README.md and its pictures into the folder of the experiment's results.

    Args:
        folder: where to.
        found: what is known.
        command: the command that goes on with the experiment.

    Raises:
        InputError: matplotlib is not installed.
        OSError: a file cannot be written.
    """
    pictures = _pictures(found)
    choice = f" ({MOST_CURVES} highest of each environment)" if len(found.experiment.variations) > MOST_CURVES else ""
    titles = {name: title + choice for name, (title, _) in pictures.items()}
    contents = {name: picture for name, (_, picture) in pictures.items()}
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        replace_files(folder, {**contents, PAGE: _page(found, titles, command)})


def _pictures(found: Findings) -> dict[str, tuple[str, bytes]]:
    """Returns title and PNG of each picture by file name."""
    axes: list[Axis] = ["steps", "minutes"] if found.experiment.over_time else ["steps"]
    with styled():
        pictures = {PICTURES[axis]: (TITLES[axis], drawn) for axis in axes if (drawn := _curves(found, axis))}
        if any(len(result.evaluations.steps) > 1 for result in found.runs):
            pictures[EVALUATIONS] = (EVALUATIONS_TITLE, _evaluation_curves(found))
        bands = {X_LABELS[axis]: aggregated(found, axis) for axis in axes}
        if all(bands.values()):
            drawn = rendered(figure_of_bands(bands, "normalised return"), ".png")
            pictures["aggregate.png"] = ("Normalised return over all environments", drawn)
    return pictures


def _page(found: Findings, pictures: Mapping[str, str], command: str) -> str:
    experiment = found.experiment
    lines = [f"# {experiment.title}", "", experiment.claim, "", f"Source: {experiment.source}.", ""]
    lines += [f"**{found.whole} of {found.needed} runs are complete; criteria: {overall(found.verdicts)}.**", ""]
    lines += [experiment.note, ""] if experiment.note else []
    lines += ["| criterion | environment | | result |", "|---|---|---|---|"]
    lines += [f"| {v.question} | {v.env or 'all'} | {v.numbers} | {v.outcome.value} |" for v in found.verdicts]
    for name, title in pictures.items():
        lines += ["", f"![{title}]({name})"]
    lines += ["", "## Evaluations", "", *evaluation_table(found)] if has_evaluations(found) else []
    lines += ["", "## Scores", "", *score_table(found)]
    lines += ["", "## Under way", "", *under_way] if (under_way := under_way_table(found)) else []
    lines += ["", "## Runs", "", *_runs(found, command), ""]
    return "\n".join(lines)


def _runs(found: Findings, command: str) -> list[str]:
    experiment, spent = found.experiment, cost(found)
    seeds = ", ".join(map(str, experiment.seeds))
    others = sorted({int(r.facts["seed"]) for r in found.runs} - {*experiment.seeds})
    further = f"; some settings also have {', '.join(map(str, others))}" if others else ""
    tuned = f"seed{'s' * (len(experiment.tuned_with) > 1)} {', '.join(map(str, experiment.tuned_with))}"
    cores = f" ({spent.processor:.2f} hours of a core for the {spent.noted} that noted it)" if spent.noted else ""
    versions = sorted({str(r.facts.get("versions", {}).get("acer_tf")) for r in found.runs})
    commits = sorted({str(r.facts.get("commit", "unknown")) for r in found.runs})
    machines = sorted({int(r.facts["cores"]) for r in found.runs if "cores" in r.facts})
    lines = [
        f"    {command}",
        "",
        f"* Seeds: {seeds}{further}." + (f" The settings were chosen with {tuned}." if experiment.tuned_with else ""),
    ]
    if found.runs:
        on = f", on {' or '.join(map(str, machines))} core{'s' * (machines != [1])}" if machines else ""
        lines.append(f"* acer_tf {', '.join(versions)}, commit{'s' * (len(commits) > 1)} {', '.join(commits)}{on}.")
    lines.append(
        f"* Cost so far: {spent.spent:.2f} hours of runs, one at a time{cores}; left: about {spent.left:.1f} hours."
    )
    lines.append(f"* Scores, settings and versions of each run: [{SEEDS}]({SEEDS}); curves: [{CURVES}]({CURVES}).")
    return lines


def _curves(found: Findings, axis: Axis) -> bytes | None:
    """Draws training returns, with the references unless runs have evaluations; None without a curve."""
    curves = _mean_curves(found, lambda result: _training(result, axis))
    if not curves:
        return None
    if axis != "steps":
        return rendered(figure_of_curves(curves, View(axis=axis)), ".png")
    shown = {c.env for c in curves}
    widths = tuple(e.steps / BINS for e in found.experiment.envs if e.id in shown)
    references = [] if has_evaluations(found) else _references(found, curves)
    return rendered(figure_of_curves(curves, View(widths=widths), references), ".png")


def _evaluation_curves(found: Findings) -> bytes:
    curves = _mean_curves(found, _evaluations)
    return rendered(figure_of_curves(curves, View("eval"), _references(found, curves)), ".png")


def _mean_curves(found: Findings, curve: Callable[[Result], Curve | None]) -> list[Curve]:
    """Returns the mean curves to draw, one for each variation and environment, in the order of environments."""
    order = [e.id for e in found.experiment.envs]
    groups = sorted(found.results.items(), key=lambda item: order.index(item[0][1]))
    by_group = [[c for r in averaged(group) if (c := curve(r)) is not None] for _, group in groups if group]
    return highest([mean_curve(curves) for curves in by_group if curves])


def highest(curves: Sequence[Curve]) -> list[Curve]:
    """Returns the `MOST_CURVES` curves of each environment that are highest in their last tenth, in the same order."""
    ends = [float(np.mean(c.mean[-math.ceil(len(c.mean) / 10) :])) for c in curves]
    best_first = sorted(range(len(curves)), key=lambda i: -ends[i])
    places = {env: [i for i in best_first if curves[i].env == env] for env in {c.env for c in curves}}
    return [c for i, c in enumerate(curves) if i in places[c.env][:MOST_CURVES]]


def _references(found: Findings, curves: Sequence[Curve]) -> list[ReferenceLine]:
    """Returns the references of the environments that are drawn, as far as a run has come there."""
    trained = {c.env: [int(r.facts["trained"]) for r in found.runs if r.facts["environment"] == c.env] for c in curves}
    return to_draw(found.experiment, found.references, {env: max(steps) for env, steps in trained.items()})


def averaged(group: Sequence[Result]) -> list[Result]:
    """Returns the runs that are drawn as their mean, which ends where the shortest of them does.

    They are the whole ones; as long as there is none, those that are at least half as long as the longest.
    """
    longest = max(int(result.facts["trained"]) for result in group)
    whole = [result for result in group if result.is_whole]
    return whole or [result for result in group if int(result.facts["trained"]) >= longest / 2]


def _training(result: Result, axis: Axis) -> Curve | None:
    """Returns the curve of the bins that lie within a run, or within what is trained of it; None without any."""
    returns = result.training
    ended = returns.steps <= int(result.facts["trained"])
    x = returns.steps if axis == "steps" else returns.seconds / 60
    return _curve(result, x[ended], returns.mean[ended], returns.episodes[ended])


def _evaluations(result: Result) -> Curve | None:
    return _curve(result, *result.evaluations[:3])


def _curve(result: Result, x: Floats, mean: Floats, episodes: Floats) -> Curve | None:
    variation, env, _ = result.key
    ones, unknown = np.ones(len(x), np.int64), np.full(len(x), np.nan)
    return Curve(env, variation, x, mean, episodes.astype(np.int64), ones, unknown) if len(x) else None
