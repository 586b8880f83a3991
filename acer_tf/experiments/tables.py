"""The rows of the tables of an experiment's page."""

import math
from collections.abc import Sequence

import numpy as np

from acer_tf.experiments.experiment import Environment, Reference
from acer_tf.experiments.findings import Findings
from acer_tf.experiments.references import reference_scores
from acer_tf.experiments.results import Floats, Result
from acer_tf.plots.bootstrap import mean_interval

Row = list[str]


def score_rows(found: Findings) -> list[Row]:
    """Returns a row of training scores for each environment and variation, with references unless runs were evaluated.

    Its cells are environment, variation, number of seeds, their scores, mean, interval and minutes.
    """
    references = () if found.has_evaluations else found.experiment.references
    return [
        [*_score_cells(found, env, group), *(_reference_cell(found, reference, env) for reference in references)]
        for env, group in found.groups
    ]


def evaluation_rows(found: Findings) -> list[Row]:
    """Returns a row of evaluations for each environment and variation: these two, scores, mean, interval, the best."""
    references = found.experiment.references
    return [
        [*_evaluation_cells(found, env, group), *(_reference_cell(found, reference, env) for reference in references)]
        for env, group in found.groups
    ]


def under_way_rows(found: Findings) -> list[Row]:
    """Returns a row for each run that has not come to its end, with the scores of reference curves at its steps.

    Its cells are environment, variation, seed, steps, the last 100 episodes, and their mean in the part of the score.
    """
    return [
        _under_way_cells(found, env, result) for env, group in found.groups for result in group if not result.is_whole
    ]


def _score_cells(found: Findings, env: Environment, group: Sequence[Result]) -> Row:
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
    ]


def _evaluation_cells(found: Findings, env: Environment, group: Sequence[Result]) -> Row:
    evaluated = [result for result in group if result.is_whole and len(result.evaluations.steps)]
    last = np.array([result.evaluations.score(*_window(found, env)) for result in evaluated])
    best = [result.evaluations.mean.max() for result in evaluated]
    return [
        env.id,
        str(group[0].facts["variation"]),
        *_seeds_mean_interval(last[~np.isnan(last)]),
        f"{np.mean(best):.4g}" if best else "",
    ]


def _under_way_cells(found: Findings, env: Environment, result: Result) -> Row:
    facts = result.facts
    begin, end = (fraction * facts["trained"] for fraction in found.experiment.score)
    mean = result.training.score(begin, end)
    references = [reference for reference in found.experiment.references if reference.curves is not None]
    return [
        env.id,
        str(facts["variation"]),
        str(facts["seed"]),
        f"{facts['trained']:,} of {facts['steps']:,}",
        f"{facts['last_100']:.4g}",
        "" if math.isnan(mean) else f"{mean:.4g}",
        *(_curve_cell(found, reference, env, begin, end) for reference in references),
    ]


def _seeds_mean_interval(scores: Floats) -> tuple[str, str, str]:
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


def _window(found: Findings, env: Environment) -> tuple[float, float]:
    begin, end = found.experiment.score
    return begin * env.steps, end * env.steps
