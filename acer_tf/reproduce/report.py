"""The page of an experiment: verdicts, table, curves, cost and seeds, made of the kept results alone."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from acer_tf.experiments.experiment import Environment, Experiment
from acer_tf.plots.curves import Curve, mean_curve
from acer_tf.plots.figures import View, figure_of_curves
from acer_tf.plots.groups import short_number
from acer_tf.plots.references import Reference
from acer_tf.plots.sources import Axis
from acer_tf.plots.style import rendered, styled
from acer_tf.reproduce.references import ReferenceRun, read_runs, to_draw
from acer_tf.reproduce.references import scores as reference_scores
from acer_tf.reproduce.results import BINS, Result
from acer_tf.reproduce.statistics import mean_interval
from acer_tf.reproduce.verdicts import Results, Verdict, judge, overall
from acer_tf.storage.durable import replacing

PAGE = "README.md"
HOUR = 3600.0


class Cost(NamedTuple):
    """Time of an experiment, in hours of runs one at a time.

    Attributes:
        spent: of the results that are there.
        processor: of them, in hours of one core; nan if a run lacks it.
        left: of the rest, estimated.
    """

    spent: float
    processor: float
    left: float


class Findings(NamedTuple):
    """An experiment with everything that is known of it.

    Attributes:
        experiment: the whole.
        results: by variation and environment.
        references: runs of others.
        verdicts: one for each criterion and environment.
    """

    experiment: Experiment
    results: Results
    references: list[ReferenceRun]
    verdicts: list[Verdict]

    @property
    def runs(self) -> list[Result]:
        """All results."""
        return [result for group in self.results.values() for result in group]

    @property
    def needed(self) -> int:
        """Number of runs of the whole experiment."""
        e = self.experiment
        return len(e.seeds) * len(e.envs) * len(e.variations)

    @property
    def whole(self) -> int:
        """How many of the needed runs have come to their end."""
        seeds = self.experiment.seeds
        return sum(result.is_whole and result.facts["seed"] in seeds for result in self.runs)


def find(experiment: Experiment, results: Results) -> Findings:
    """Judges an experiment.

    Raises:
        InputError: a reference cannot be read, or a library of statistics cannot be imported.
    """
    references = read_runs(experiment)
    return Findings(experiment, results, references, judge(experiment, results, references))


def write_page(folder: Path, found: Findings, command: str) -> None:
    """Writes README.md and its pictures into the folder of the experiment's results.

    Args:
        folder: where to.
        found: what is known.
        command: the command that goes on with the experiment.

    Raises:
        InputError: matplotlib or rliable cannot be imported.
        OSError: a file cannot be written.
    """
    axes: list[Axis] = ["steps", "minutes"] if found.experiment.over_time else ["steps"]
    pictures = {}
    if found.runs:
        for axis in axes:
            name = "curves.png" if axis == "steps" else "curves-minutes.png"
            pictures[name] = AXIS_TITLES[axis]
            with styled(), replacing(folder / name) as file:
                file.write(_picture(found, axis))
    with replacing(folder / PAGE) as file:
        file.write(_page(found, pictures, command).encode())


AXIS_TITLES: Mapping[Axis, str] = {
    "steps": "Mean raw return over agent steps",
    "minutes": "The same over minutes of training",
}


def cost(found: Findings) -> Cost:
    """Returns what the results have cost, and an estimate for the missing ones.

    The time of a missing run is that of the others of its variation and environment, if there are any.
    """
    spent = sum(float(result.facts["seconds"]) for result in found.runs)
    processor = sum(float(result.facts.get("processor_seconds", math.nan)) for result in found.runs)
    left = 0.0
    for variation in found.experiment.variations:
        for env in found.experiment.envs:
            group = found.results.get((variation.name, env.id), ())
            rates = [float(r.facts["seconds"]) / int(r.facts["trained"]) for r in group if r.is_whole]
            rate = float(np.mean(rates)) if rates else variation.slowdown / env.steps_per_second
            done = {r.facts["seed"]: min(int(r.facts["trained"]), env.steps) for r in group}
            left += sum(rate * (env.steps - done.get(seed, 0)) for seed in found.experiment.seeds)
    return Cost(spent / HOUR, processor / HOUR, left / HOUR)


def _page(found: Findings, pictures: Mapping[str, str], command: str) -> str:
    experiment = found.experiment
    lines = [f"# {experiment.title}", "", experiment.claim, "", f"Source: {experiment.source}.", ""]
    lines += [f"**{found.whole} of {found.needed} runs are complete; criteria: {overall(found.verdicts)}.**", ""]
    lines += [experiment.note, ""] if experiment.note else []
    lines += ["| criterion | environment | | result |", "|---|---|---|---|"]
    lines += [f"| {v.question} | {v.env or 'all'} | {v.numbers} | {v.outcome.value} |" for v in found.verdicts]
    for name, title in pictures.items():
        lines += ["", f"![{title}]({name})"]
    lines += ["", "## Scores", "", *_table(found), "", "## Runs", "", *_runs(found, command), ""]
    return "\n".join(lines)


def _table(found: Findings) -> list[str]:
    begin, end = (round(100 * fraction) for fraction in found.experiment.score)
    labels = [source.label for source in found.experiment.references]
    lines = [
        f"Mean raw return of the episodes that ended from {begin} % to {end} % of a run, for each seed; rliable's 95 % "
        "bootstrap interval of the mean over seeds. Runs under way have no score yet.",
        "",
        f"| environment | variation | seeds | scores | mean | interval |{''.join(f' {label} |' for label in labels)}",
        "|---" * (6 + len(labels)) + "|",
    ]
    for env in found.experiment.envs:
        for variation in found.experiment.variations:
            group = found.results.get((variation.name, env.id), ())
            if group:
                lines.append(_row(found, env, variation.name, group, labels))
    return lines


def _row(found: Findings, env: Environment, variation: str, group: Sequence[Result], labels: Sequence[str]) -> str:
    begin, end = (fraction * env.steps for fraction in found.experiment.score)
    whole = [result for result in group if result.is_whole]
    scores = np.array([result.score(begin, end) for result in whole])
    low, high = mean_interval(scores)
    cells = [
        env.id,
        variation,
        f"{len(whole)} of {len(found.experiment.seeds)}",
        ", ".join(f"{score:.4g}" for score in scores),
        f"{scores.mean():.4g}" if len(scores) else "",
        "" if math.isnan(low) else f"{low:.4g} to {high:.4g}",
        *(_reference_cell(found, label, env, begin, end) for label in labels),
    ]
    return f"| {' | '.join(cells)} |"


def _reference_cell(found: Findings, label: str, env: Environment, begin: float, end: float) -> str:
    (source,) = (source for source in found.experiment.references if source.label == label)
    if env.id in source.numbers:
        return f"{source.numbers[env.id]:g}"
    scores = reference_scores(found.references, label, env.id, begin, end)
    if not len(scores):
        return ""
    has_seeds = any(run.seed for run in found.references if run.label == label)
    return f"{scores.mean():.4g}" + (f" ({len(scores)} seed{'s' * (len(scores) > 1)})" if has_seeds else "")


def _runs(found: Findings, command: str) -> list[str]:
    experiment, spent = found.experiment, cost(found)
    seeds = ", ".join(map(str, experiment.seeds))
    tuned = ", ".join(map(str, experiment.tuned_with))
    cores = "" if math.isnan(spent.processor) or not found.runs else f", {spent.processor:.2f} hours of a core"
    versions = {
        f"{r.facts.get('versions', {}).get('acer_tf')} ({r.facts.get('commit', 'no commit known')})" for r in found.runs
    }
    machines = {f"{r.facts['cores']} cores" for r in found.runs if "cores" in r.facts}
    lines = [
        f"    {command}",
        "",
        f"* Seeds: {seeds}." + (f" The settings were chosen with seeds {tuned}." if tuned else ""),
    ]
    if found.runs:
        lines.append(f"* acer_tf {', '.join(sorted(versions))}, on {', '.join(sorted(machines))}.")
    lines.append(
        f"* Cost so far: {spent.spent:.2f} hours of runs, one at a time{cores}; left: about {spent.left:.1f} hours."
    )
    lines.append("* A file for each seed, with its curve, settings and versions: variation/environment/seed-N.csv.")
    return lines


def _picture(found: Findings, axis: Axis) -> bytes:
    curves: list[Curve] = []
    for (variation, env), group in found.results.items():
        if group:
            # A mean ends where its shortest run does: one under way is drawn only as long as no run is whole.
            longest = max(group, key=lambda result: int(result.facts["trained"]))
            drawn = [result for result in group if result.is_whole] or [longest]
            curves.append(mean_curve([_curve(variation, env, result, axis) for result in drawn]))
    order = [e.id for e in found.experiment.envs]
    curves.sort(key=lambda c: order.index(c.env))
    shown = {c.env for c in curves}
    references: list[Reference] = []
    if axis == "steps":
        references = [r for r in to_draw(found.experiment, found.references) if r.env in shown]
    widths = tuple(e.steps / BINS for e in found.experiment.envs if e.id in shown) if axis == "steps" else ()
    return rendered(figure_of_curves(curves, View(axis=axis, widths=widths), references), ".png")


def _curve(variation: str, env: str, result: Result, axis: Axis) -> Curve:
    x = result.steps if axis == "steps" else result.seconds / 60
    count = len(x)
    episodes = result.episodes.astype(np.int64)
    return Curve(env, variation, x, result.mean, episodes, np.ones(count, np.int64), np.full(count, np.nan))


def summary_of_size(experiment: Experiment) -> str:
    """Returns how many runs of which length an experiment has, in a few words."""
    lengths = sorted({e.steps for e in experiment.envs})
    steps = " to ".join(short_number(length) for length in dict.fromkeys((lengths[0], lengths[-1])))
    parts = (
        (len(experiment.envs), "environment"),
        (len(experiment.variations), "variation"),
        (len(experiment.seeds), "seed"),
    )
    return ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in parts) + f", {steps} steps"
