"""Judges each criterion of an experiment by its results so far."""

import enum
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from acer_tf.experiments.experiment import Criterion, Environment, Experiment
from acer_tf.experiments.published import ReferenceRun, reference_final, reference_scores, reference_seeds
from acer_tf.experiments.results import Floats, Result, Returns
from acer_tf.plots.statistics import (
    CONFIDENCE_OF_DIFFERENCE,
    Interval,
    difference,
    improvement,
    mean_interval,
    permutation_test,
)

LEVEL = 0.05
"""Level of the test beside `better`, which is undecided if the p-value is larger."""

NOTHING_LEARNED = "nothing has been learned that the margin could be a share of"

Results = Mapping[tuple[str, str], Sequence[Result]]
"""Results by variation and environment, in the order of seeds."""


class Outcome(enum.Enum):
    """Outcome of a criterion."""

    YES = "reproduced"
    NO = "not reproduced"
    UNDECIDED = "undecided"
    INCOMPLETE = "incomplete"


class Verdict(NamedTuple):
    """A criterion in words, judged in an environment, or over several if that is empty, with outcome and numbers."""

    question: str
    env: str
    numbers: str
    outcome: Outcome


Judged = tuple[str, Outcome]
"""The numbers and the outcome of a verdict."""


def judge(experiment: Experiment, results: Results, references: Sequence[ReferenceRun]) -> list[Verdict]:
    """Judges every criterion of a complete experiment in each environment; runs may be missing or incomplete.

    Raises:
        InputError: a library of statistics cannot be imported.
    """
    whole = defaultdict(list, {key: [r for r in runs if r.is_whole] for key, runs in results.items()})
    judged = []
    for criterion in experiment.criteria:
        envs = [env for env in experiment.envs if env.id in criterion.envs]
        if criterion.kind == "better":
            env_id = envs[0].id if len(envs) == 1 else ""
            judged.append(Verdict(_question(criterion, envs[0]), env_id, *_better(envs, experiment, criterion, whole)))
            continue
        for env in envs:
            found = _judge_in(env, experiment, criterion, whole, references)
            judged.append(Verdict(_question(criterion, env), env.id, *found))
    return judged


def _judge_in(
    env: Environment,
    experiment: Experiment,
    criterion: Criterion,
    results: Results,
    references: Sequence[ReferenceRun],
) -> Judged:
    names = [criterion.variation, criterion.than] if criterion.than else [criterion.variation]
    by_seed = [_scores(experiment, results, name, env, criterion) for name in names]
    seeds_of: list[Iterable[int]] = [*by_seed]
    if any(r.same_seeds for r in experiment.references if r.label == criterion.reference):
        seeds_of.append(reference_seeds(references, criterion.reference, env.id, env.part(criterion.window)[1]))
    if number := sum(_missing(experiment, env, seeds) for seeds in seeds_of):
        total = env.seeds * len(seeds_of)
        return f"{total - number} of {total} seeds", Outcome.INCOMPLETE
    scores, *others = (np.array([*found.values()]) for found in by_seed)
    runs = results[names[-1], env.id]
    if criterion.kind == "reaches":
        minutes = max(float(r.facts["seconds"]) for r in runs) / 60
        return _reaches(criterion, criterion.values[env.id], scores, minutes)
    if criterion.than:
        (theirs,), final = others, _final(runs)
    else:
        measure = Returns.area if criterion.of == "area" else Returns.score
        window = env.part(criterion.window)
        theirs = reference_scores(references, criterion.reference, env.id, *window, measure)
        final = reference_final(references, criterion.reference, env.id)
    return _same(criterion, scores, theirs, _margin(experiment, criterion, env, final))


def overall(verdicts: Sequence[Verdict]) -> str:
    """Returns the outcomes in a few words, such as `7 of 9 reproduced, 2 undecided`, or `no criteria`."""
    if not verdicts:
        return "no criteria"
    counts = {outcome: sum(v.outcome is outcome for v in verdicts) for outcome in Outcome}
    yes = f"{counts.pop(Outcome.YES)} of {len(verdicts)} reproduced"
    return ", ".join([yes, *(f"{count} {outcome.value}" for outcome, count in counts.items() if count)])


def _same(criterion: Criterion, scores: Floats, others: Floats, margin: float) -> Judged:
    if not len(others):
        return "the reference has no run as long as that", Outcome.UNDECIDED
    if math.isnan(margin):
        return NOTHING_LEARNED, Outcome.UNDECIDED
    found = difference(scores, others, is_exact=not criterion.than and len(others) == 1)
    numbers = (
        f"{_number(scores.mean())} ({len(scores)} seeds), {_other(criterion)} {_number(others.mean())} "
        f"({len(others)}); difference {_shown(found)} ({100 * CONFIDENCE_OF_DIFFERENCE:g} %), margin ±{_number(margin)}"
    )
    if len(others) > 1:
        numbers += f"; p = {permutation_test(scores[:, None], others[:, None]):.2g}"
    if found.low > margin or found.high < -margin:
        return numbers, Outcome.NO
    return numbers, Outcome.YES if found.is_within(margin) else Outcome.UNDECIDED


def _reaches(criterion: Criterion, value: float, scores: Floats, minutes: float) -> Judged:
    found = mean_interval(scores)
    shown = f"{_shown(found)}, least {_number(scores.min())} ({len(scores)} seeds)"
    if not math.isinf(criterion.minutes):
        shown += f"; longest run {minutes:.1f} minutes"
    low, high = (scores.min(), scores.min()) if criterion.every_seed else (found.low, found.high)
    if minutes > criterion.minutes or high < value:
        return shown, Outcome.NO
    return shown, Outcome.YES if low >= value else Outcome.UNDECIDED


def _better(envs: Sequence[Environment], experiment: Experiment, criterion: Criterion, results: Results) -> Judged:
    both = [
        [_scores(experiment, results, variation, env, criterion) for env in envs]
        for variation in (criterion.variation, criterion.than)
    ]
    total = 2 * sum(e.seeds for e in envs)
    if missing := sum(_missing(experiment, e, s) for group in both for e, s in zip(envs, group, strict=True)):
        return f"{total - missing} of {total} runs", Outcome.INCOMPLETE
    number = min(len(scores) for group in both for scores in group)
    first, second = (np.stack([[*scores.values()][:number] for scores in group], axis=1) for group in both)
    margins = [_margin(experiment, criterion, e, _final(results[criterion.variation, e.id])) for e in envs]
    if any(map(math.isnan, margins)):
        return NOTHING_LEARNED, Outcome.UNDECIDED
    second += margins
    estimate, low, high = improvement(first, second)
    p = permutation_test(first, second)
    numbers = f"probability {estimate:.2f} [{low:.2f}, {high:.2f}]"
    numbers += f" over {len(envs)} tasks" if len(envs) > 1 else ""
    numbers += f"; p = {p:.2g}"
    if math.isnan(low) or low <= 0.5 <= high or p >= LEVEL:
        return numbers, Outcome.UNDECIDED
    return numbers, Outcome.YES if low > 0.5 else Outcome.NO


def _scores(
    experiment: Experiment, results: Results, variation: str, env: Environment, criterion: Criterion
) -> dict[int, float]:
    """Returns the scores of runs by seed, the experiment's seeds first, without runs that have no episode there."""
    own = experiment.seeds(env)
    runs = sorted(results[variation, env.id], key=lambda r: r.facts["seed"] not in own)
    part = _shared_seconds(results, criterion, env) if criterion.of == "area_of_minutes" else env.part(criterion.window)
    found = {int(r.facts["seed"]): _score(r, criterion, part) for r in runs}
    return {seed: score for seed, score in found.items() if not math.isnan(score)}


def _score(result: Result, criterion: Criterion, window: tuple[float, float]) -> float:
    if criterion.of == "last_100":
        return float(result.facts["last_100"])
    if criterion.of == "area":
        return result.training.area(*window)
    if criterion.of == "area_of_minutes":
        return result.training._replace(steps=result.training.seconds).area(*window)
    return (result.evaluations if criterion.of == "evaluations" else result.training).score(*window)


def _missing(experiment: Experiment, env: Environment, scored: Iterable[int]) -> int:
    """Returns how many of the environment's seeds have no score; further seeds do not replace them."""
    return len(set(experiment.seeds(env)).difference(scored))


def _shared_seconds(results: Results, criterion: Criterion, env: Environment) -> tuple[float, float]:
    """Returns the range of seconds of training that every run of both variations covers."""
    both = [r for name in (criterion.variation, criterion.than) for r in results[name, env.id]]
    return 0.0, min((float(r.training.seconds[-1]) for r in both), default=math.nan)


def _final(runs: Sequence[Result]) -> float:
    """Returns the mean score in the last tenth of those runs that have one, or nan without any."""
    scores = [r.score((0.9, 1)) for r in runs]
    known = [score for score in scores if not math.isnan(score)]
    return float(np.mean(known)) if known else math.nan


def _margin(experiment: Experiment, criterion: Criterion, env: Environment, final: float) -> float:
    """Returns the margin in units of the score, or nan if nothing has been learned of which it could be a share."""
    if not criterion.margin:
        return 0.0
    learned = final - experiment.random[env.id]
    return criterion.margin * learned if learned > 0 else math.nan


def _question(criterion: Criterion, env: Environment) -> str:
    begin, end = (round(100 * fraction) for fraction in criterion.window)
    part = f"from {begin} % to {end} % of the run"
    part = {
        "area": f"in the area below the curve {part}",
        "area_of_minutes": "in the area below the curve over minutes, until the first of all runs ends",
        "evaluations": f"in evaluations {part}",
        "last_100": "in the last 100 episodes",
    }.get(criterion.of, part)
    if criterion.kind == "same":
        return f"{criterion.variation} is as {_other(criterion)}, {part}"
    if criterion.kind == "reaches":
        seeds = " with every seed" if criterion.every_seed else ""
        limit = "" if math.isinf(criterion.minutes) else f", in at most {_number(criterion.minutes)} minutes"
        return f"{criterion.variation} reaches {_number(criterion.values[env.id])}{seeds}, {part}{limit}"
    ahead = f" by more than {_number(100 * criterion.margin)} % of what it learns" if criterion.margin else ""
    return f"{criterion.variation} is better than {criterion.than}{ahead}, {part}"


def _other(criterion: Criterion) -> str:
    return criterion.than or criterion.reference


def _shown(found: Interval) -> str:
    return f"{_number(found.estimate)} [{_number(found.low)}, {_number(found.high)}]"


def _number(value: float) -> str:
    return f"{value:.4g}"
