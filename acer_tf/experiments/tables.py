"""The tables of an experiment's page: the scores of each environment and variation, and runs under way."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acer_tf.experiments.experiment import Environment, Reference
from acer_tf.experiments.findings import Findings
from acer_tf.experiments.references import reference_scores
from acer_tf.experiments.results import Result
from acer_tf.plots.bootstrap import mean_interval

Lines = list[str]


def score_table(found: Findings) -> Lines:
    """Returns the lines of the table of training scores, with those of the references unless runs have evaluations."""
    begin, end = _percent(found)
    references = () if has_evaluations(found) else found.experiment.references
    return [
        f"Mean raw return of the episodes that ended from {begin} % to {end} % of a run, for each seed; 95 % "
        "bootstrap interval of the mean over seeds; mean minutes of a run. Runs under way have no score yet.",
        "",
        *_head("environment", "variation", "seeds", "scores", "mean", "interval", "minutes", *_labels(references)),
        *(_line(*_score_cells(found, env, group, references)) for env, group in _groups(found)),
    ]


def evaluation_table(found: Findings) -> Lines:
    """Returns the lines of the table of evaluations, with the scores of the references."""
    begin, end = _percent(found)
    references = found.experiment.references
    return [
        f"Mean raw return of the evaluations from {begin} % to {end} % of a run, for each seed; 95 % "
        "bootstrap interval of the mean over seeds; the best evaluation of a whole run, mean over seeds.",
        "",
        *_head("environment", "variation", "evaluations", "mean", "interval", "best", *_labels(references)),
        *(_line(*_evaluation_cells(found, env, group, references)) for env, group in _groups(found)),
    ]


def under_way_table(found: Findings) -> Lines:
    """Returns the lines of the table of runs that have not come to their end; none if there are none."""
    references = [reference for reference in found.experiment.references if reference.curves is not None]
    lines = [
        _line(*_under_way_cells(found, env, result, references))
        for env, group in _groups(found)
        for result in group
        if not result.is_whole
    ]
    if not lines:
        return []
    begin, end = _percent(found)
    return [
        f"Mean raw return of the last 100 episodes, and of those in the bins that end from {begin} % to {end} % of "
        "the steps so far; references from the same steps.",
        "",
        *_head("environment", "variation", "seed", "steps", "last 100", "mean", *_labels(references)),
        *lines,
    ]


def has_evaluations(found: Findings) -> bool:
    """Returns whether a run was evaluated."""
    return any(len(result.evaluations.steps) for result in found.runs)


def _score_cells(
    found: Findings, env: Environment, group: Sequence[Result], references: Sequence[Reference]
) -> list[str]:
    window = _window(found, env)
    whole = [result for result in group if result.is_whole]
    needed = sum(result.facts["seed"] in found.experiment.seeds for result in whole)
    return [
        env.id,
        str(group[0].facts["variation"]),
        f"{needed} of {len(found.experiment.seeds)}"
        + (f" and {len(whole) - needed} more" if needed < len(whole) else ""),
        *_seeds_mean_interval(np.array([result.training.score(*window) for result in whole])),
        f"{np.mean([float(r.facts['seconds']) for r in whole]) / 60:.1f}" if whole else "",
        *(_reference_cell(found, reference, env) for reference in references),
    ]


def _evaluation_cells(
    found: Findings, env: Environment, group: Sequence[Result], references: Sequence[Reference]
) -> list[str]:
    evaluated = [result for result in group if result.is_whole and len(result.evaluations.steps)]
    last = np.array([result.evaluations.score(*_window(found, env)) for result in evaluated])
    best = [result.evaluations.mean.max() for result in evaluated]
    return [
        env.id,
        str(group[0].facts["variation"]),
        *_seeds_mean_interval(last[~np.isnan(last)]),
        f"{np.mean(best):.4g}" if best else "",
        *(_reference_cell(found, reference, env) for reference in references),
    ]


def _under_way_cells(found: Findings, env: Environment, result: Result, references: Sequence[Reference]) -> list[str]:
    facts = result.facts
    begin, end = (fraction * facts["trained"] for fraction in found.experiment.score)
    mean = result.training.score(begin, end)
    return [
        env.id,
        str(facts["variation"]),
        str(facts["seed"]),
        f"{facts['trained']:,} of {facts['steps']:,}",
        f"{facts['last_100']:.4g}",
        "" if math.isnan(mean) else f"{mean:.4g}",
        *(_curve_cell(found, reference, env, begin, end) for reference in references),
    ]


def _seeds_mean_interval(scores: NDArray[np.float64]) -> tuple[str, str, str]:
    if not len(scores):
        return "", "", ""
    mean, low, high = mean_interval(scores)
    return (
        ", ".join(f"{score:.4g}" for score in scores),
        f"{mean:.4g}",
        "" if math.isnan(low) else f"{low:.4g} to {high:.4g}",
    )


def _reference_cell(found: Findings, reference: Reference, env: Environment) -> str:
    if env.id in reference.numbers:
        return f"{reference.numbers[env.id]:g}"
    return _curve_cell(found, reference, env, *_window(found, env))


def _curve_cell(found: Findings, reference: Reference, env: Environment, begin: float, end: float) -> str:
    scores = reference_scores(found.references, reference.label, env.id, begin, end)
    if not len(scores):
        return ""
    has_seeds = any(run.seed for run in found.references if run.label == reference.label)
    return f"{scores.mean():.4g}" + (f" ({len(scores)} seed{'s' * (len(scores) > 1)})" if has_seeds else "")


def _groups(found: Findings) -> list[tuple[Environment, Sequence[Result]]]:
    """Returns the results of every environment and variation that has some, in the experiment's order."""
    experiment = found.experiment
    pairs = [(env, found.results.get((v.name, env.id), ())) for env in experiment.envs for v in experiment.variations]
    return [(env, group) for env, group in pairs if group]


def _window(found: Findings, env: Environment) -> tuple[float, float]:
    begin, end = found.experiment.score
    return begin * env.steps, end * env.steps


def _percent(found: Findings) -> tuple[int, int]:
    begin, end = found.experiment.score
    return round(100 * begin), round(100 * end)


def _labels(references: Sequence[Reference]) -> list[str]:
    return [reference.label for reference in references]


def _head(*names: str) -> Lines:
    return [_line(*names), "|---" * len(names) + "|"]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
