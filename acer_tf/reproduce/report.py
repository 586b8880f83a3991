"""The page of an experiment: verdicts, table, curves, cost and seeds, made of the kept results alone."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from acer_tf.experiments.experiment import Environment
from acer_tf.plots.curves import Curve, mean_curve
from acer_tf.plots.figures import View, figure_of_curves
from acer_tf.plots.interval_figures import figure_of_bands
from acer_tf.plots.references import Reference
from acer_tf.plots.sources import Axis
from acer_tf.plots.style import rendered, styled
from acer_tf.reproduce.aggregate import aggregated
from acer_tf.reproduce.findings import Findings, cost
from acer_tf.reproduce.references import scores as reference_scores
from acer_tf.reproduce.references import to_draw
from acer_tf.reproduce.results import BINS, Result
from acer_tf.reproduce.statistics import mean_interval
from acer_tf.reproduce.verdicts import overall
from acer_tf.storage.durable import replacing

PAGE = "README.md"
PICTURES: Mapping[Axis, str] = {"steps": "curves.png", "minutes": "curves-minutes.png"}
PLACES: Mapping[Axis, str] = {"steps": "% of the agent steps of a run", "minutes": "minutes of training"}
TITLES: Mapping[Axis, str] = {
    "steps": "Mean raw return over agent steps",
    "minutes": "The same over minutes of training",
}


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
    pictures = _pictures(found) if found.runs else {}
    for name, (_, picture) in pictures.items():
        with replacing(folder / name) as file:
            file.write(picture)
    titles = {name: title for name, (title, _) in pictures.items()}
    with replacing(folder / PAGE) as file:
        file.write(_page(found, titles, command).encode())


def _pictures(found: Findings) -> dict[str, tuple[str, bytes]]:
    """Returns title and PNG of each picture by file name."""
    axes: list[Axis] = ["steps", "minutes"] if found.experiment.over_time else ["steps"]
    with styled():
        pictures = {PICTURES[axis]: (TITLES[axis], _curves(found, axis)) for axis in axes}
        bands = {PLACES[axis]: aggregated(found, axis) for axis in axes}
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
    lines += ["", "## Scores", "", *_table(found), "", "## Runs", "", *_runs(found, command), ""]
    return "\n".join(lines)


def _table(found: Findings) -> list[str]:
    begin, end = (round(100 * fraction) for fraction in found.experiment.score)
    labels = [source.label for source in found.experiment.references]
    columns = ["environment", "variation", "seeds", "scores", "mean", "interval", "minutes", *labels]
    evaluated = any("evaluations" in result.facts for result in found.runs)
    columns += ["evaluations"] * evaluated
    lines = [
        f"Mean raw return of the episodes that ended from {begin} % to {end} % of a run, for each seed; rliable's 95 % "
        "bootstrap interval of the mean over seeds; mean minutes of a run. Runs under way have no score yet."
        + (" The last column has the mean return of the evaluations in the same part of each run." * evaluated),
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
    ]
    for env in found.experiment.envs:
        for variation in found.experiment.variations:
            group = found.results.get((variation.name, env.id), ())
            if group:
                cells = _row(found, env, variation.name, group, labels)
                cells += [_evaluations_cell(found, env, group)] * evaluated
                lines.append(f"| {' | '.join(cells)} |")
    return lines


def _row(
    found: Findings, env: Environment, variation: str, group: Sequence[Result], labels: Sequence[str]
) -> list[str]:
    begin, end = (fraction * env.steps for fraction in found.experiment.score)
    whole = [result for result in group if result.is_whole]
    scores = np.array([result.score(begin, end) for result in whole])
    low, high = mean_interval(scores)
    needed = sum(result.facts["seed"] in found.experiment.seeds for result in whole)
    return [
        env.id,
        variation,
        f"{needed} of {len(found.experiment.seeds)}"
        + (f" and {len(whole) - needed} more" if needed < len(whole) else ""),
        ", ".join(f"{score:.4g}" for score in scores),
        f"{scores.mean():.4g}" if len(scores) else "",
        "" if math.isnan(low) else f"{low:.4g} to {high:.4g}",
        f"{np.mean([float(r.facts['seconds']) for r in whole]) / 60:.1f}" if whole else "",
        *(_reference_cell(found, label, env, begin, end) for label in labels),
    ]


def _evaluations_cell(found: Findings, env: Environment, group: Sequence[Result]) -> str:
    begin, end = (fraction * env.steps for fraction in found.experiment.score)
    means = [result.evaluated(begin, end) for result in group if result.is_whole]
    return ", ".join(f"{mean:.4g}" for mean in means if not math.isnan(mean))


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
    others = sorted({int(r.facts["seed"]) for r in found.runs} - {*experiment.seeds})
    further = f"; some settings also have {', '.join(map(str, others))}" if others else ""
    tuned = f"seed{'s' * (len(experiment.tuned_with) > 1)} {', '.join(map(str, experiment.tuned_with))}"
    cores = f" ({spent.processor:.2f} hours of a core for the {spent.noted} that noted it)" if spent.noted else ""
    versions = {
        f"{r.facts.get('versions', {}).get('acer_tf')} ({r.facts.get('commit', 'no commit known')})" for r in found.runs
    }
    machines = {f"{r.facts['cores']} cores" for r in found.runs if "cores" in r.facts}
    lines = [
        f"    {command}",
        "",
        f"* Seeds: {seeds}{further}." + (f" The settings were chosen with {tuned}." if experiment.tuned_with else ""),
    ]
    if found.runs:
        lines.append(f"* acer_tf {', '.join(sorted(versions))}, on {', '.join(sorted(machines))}.")
    lines.append(
        f"* Cost so far: {spent.spent:.2f} hours of runs, one at a time{cores}; left: about {spent.left:.1f} hours."
    )
    if under_way := [result.facts for result in found.runs if not result.is_whole]:
        shown = [
            f"{f['variation']} {f['environment']} seed {f['seed']} at {f['trained']:,} of {f['steps']:,} steps (mean "
            f"return of its last 100 episodes {f['last_100']:.4g})"
            for f in under_way
        ]
        lines.append(f"* Under way: {'; '.join(shown)}.")
    lines.append("* A file for each seed, with its curve, settings and versions: variation/environment/seed-N.csv.")
    return lines


def _curves(found: Findings, axis: Axis) -> bytes:
    curves: list[Curve] = []
    for (variation, env), group in found.results.items():
        if group:
            curves.append(mean_curve([_curve(variation, env, result, axis) for result in averaged(group)]))
    order = [e.id for e in found.experiment.envs]
    curves.sort(key=lambda c: order.index(c.env))
    shown = {c.env for c in curves}
    references: list[Reference] = []
    if axis == "steps":
        references = [r for r in to_draw(found.experiment, found.references) if r.env in shown]
    widths = tuple(e.steps / BINS for e in found.experiment.envs if e.id in shown) if axis == "steps" else ()
    return rendered(figure_of_curves(curves, View(axis=axis, widths=widths), references), ".png")


def averaged(group: Sequence[Result]) -> list[Result]:
    """Returns the runs that are drawn as their mean, which ends where the shortest of them does.

    They are the whole ones; as long as there is none, those that are at least half as long as the longest.
    """
    longest = max(int(result.facts["trained"]) for result in group)
    whole = [result for result in group if result.is_whole]
    return whole or [result for result in group if int(result.facts["trained"]) >= longest / 2]


def _curve(variation: str, env: str, result: Result, axis: Axis) -> Curve:
    x = result.steps if axis == "steps" else result.seconds / 60
    count = len(x)
    episodes = result.episodes.astype(np.int64)
    return Curve(env, variation, x, result.mean, episodes, np.ones(count, np.int64), np.full(count, np.nan))
