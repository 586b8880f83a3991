"""The rows of the tables on an experiment's page."""

import math
from collections.abc import Sequence

import numpy as np

from acer_tf.experiments.experiment import Environment, Reference
from acer_tf.experiments.findings import Findings
from acer_tf.experiments.published import reference_scores
from acer_tf.plots.statistics import mean_interval
from acer_tf.system.console import counted

Row = list[str]


def score_rows(found: Findings) -> list[Row]:
    """Returns the training scores per environment and variation, with references unless runs were evaluated."""
    references = () if found.has_evaluations else found.experiment.references
    rows = []
    for env, group in found.groups:
        whole = [result for result in group if result.is_whole]
        needed = sum(result.facts["seed"] in found.experiment.seeds(env) for result in whole)
        more = f" and {len(whole) - needed} more" if needed < len(whole) else ""
        rows.append(
            [
                *(env.id, group[0].facts["variation"], f"{needed} of {env.seeds}{more}"),
                *_seeds_mean_interval([result.score(found.experiment.score) for result in whole]),
                f"{np.mean([result.facts['seconds'] for result in whole]) / 60:.1f}" if whole else "",
                *(_reference_cell(found, reference, env) for reference in references),
            ]
        )
    return rows


def evaluation_rows(found: Findings) -> list[Row]:
    """Returns the evaluations per environment and variation, with the scores of references."""
    rows = []
    for env, group in found.groups:
        evaluated = [result.evaluations for result in group if result.is_whole and len(result.evaluations.steps)]
        last = [evaluations.score(*env.part(found.experiment.score)) for evaluations in evaluated]
        rows.append(
            [
                *(env.id, group[0].facts["variation"]),
                *_seeds_mean_interval([score for score in last if not math.isnan(score)]),
                f"{np.mean([evaluations.mean.max() for evaluations in evaluated]):.4g}" if evaluated else "",
                *(_reference_cell(found, reference, env) for reference in found.experiment.references),
            ]
        )
    return rows


def under_way_rows(found: Findings) -> list[Row]:
    """Returns incomplete runs, with the scores of reference curves at their steps."""
    references = [reference for reference in found.experiment.references if reference.curves is not None]
    rows = []
    for env, facts, training in (
        (e, r.facts, r.training) for e, group in found.groups for r in group if not r.is_whole
    ):
        begin, end = (fraction * facts["trained"] for fraction in found.experiment.score)
        mean = training.score(begin, end)
        rows.append(
            [
                *(env.id, facts["variation"], str(facts["seed"])),
                *(f"{facts['trained']:,} of {facts['steps']:,}", f"{facts['last_100']:.4g}"),
                "" if math.isnan(mean) else f"{mean:.4g}",
                *(_curve_cell(found, reference, env, begin, end) for reference in references),
            ]
        )
    return rows


def _seeds_mean_interval(scores: Sequence[float]) -> Row:
    if not scores:
        return ["", "", ""]
    mean, low, high = mean_interval(np.array(scores))
    seeds = ", ".join(f"{score:.4g}" for score in scores)
    return [seeds, f"{mean:.4g}", "" if math.isnan(low) else f"{low:.4g} to {high:.4g}"]


def _reference_cell(found: Findings, reference: Reference, env: Environment) -> str:
    if env.id in reference.numbers:
        return f"{reference.numbers[env.id]:g}"
    return _curve_cell(found, reference, env, *env.part(found.experiment.score))


def _curve_cell(found: Findings, reference: Reference, env: Environment, begin: float, end: float) -> str:
    scores = reference_scores(found.references, reference.label, env.id, begin, end)
    if not len(scores):
        return ""
    has_seeds = any(run.seed for run in found.references if run.label == reference.label)
    return f"{scores.mean():.4g}" + (f" ({counted(len(scores), 'seed')})" if has_seeds else "")
