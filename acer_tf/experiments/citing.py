"""For papers that cite results: a page with the numbers and how they were obtained, and a table of all settings."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.ids import is_atari
from acer_tf.experiments.aggregate import aggregated, scale
from acer_tf.experiments.experiment import Environment
from acer_tf.experiments.findings import HOUR, Findings
from acer_tf.experiments.plan import defaults
from acer_tf.experiments.results import Floats, Result
from acer_tf.logs.files import csv_lines
from acer_tf.networks.names import default_arguments
from acer_tf.plots.pages import render
from acer_tf.plots.statistics import Interval, interval, iqm, mean_interval

CITING, SETTINGS = "citing.md", "settings.csv"
TEMPLATE = Path(__file__).with_name(CITING)
TITLE = "# How to cite these results"
SETTINGS_COLUMNS = ("experiment", "variation", "environment")
PART = 0.05
"""Share of a run over which the mean return has to reach the threshold."""
LIBRARIES = {"acer_tf": "acer_tf", "python": "Python", "tensorflow": "TensorFlow", "keras": "Keras", "numpy": "NumPy"}

Row = list[str]


class Cited(NamedTuple):
    """An experiment on the page.

    Attributes:
        found: the experiment and its results.
        rows: rows of its table of numbers, one for each environment and variation with a complete run.
        overall: rows of its table over all environments; empty without one.
        facts: how its runs were made, by name.
        changed: settings that differ from the defaults.
    """

    found: Findings
    rows: Sequence[Row]
    overall: Sequence[Row]
    facts: Mapping[str, str]
    changed: Mapping[str, str]


def citing_files(findings: Sequence[Findings]) -> dict[str, bytes]:
    """Returns the page and the table of settings of all experiments with results, by file name."""
    cited = [
        Cited(found, _number_rows(found), _overall_rows(found), _provenance(found.runs), _changed(found.runs))
        for found in findings
        if found.runs
    ]
    standard = {name: _text(value) for name, value in sorted(_complete({}).items())}
    page = render(TEMPLATE, title=TITLE, cited=cited, settings=SETTINGS, defaults=standard, part=PART)
    return {CITING: page.encode(), SETTINGS: _settings_table(findings)}


def steps_to(result: Result, level: float) -> float:
    """Returns the agent steps after which a run's mean return over the preceding twentieth has reached a level.

    Returns:
        The steps, infinite if it never does.
    """
    width = PART * int(result.facts["steps"])
    scores = ((end, result.training.score(end - width, end)) for end in result.training.steps)
    return next((float(end) for end, score in scores if end >= width and score >= level), math.inf)


def _number_rows(found: Findings) -> list[Row]:
    rows = []
    for env, group in found.groups:
        if whole := [result for result in group if result.is_whole]:
            scores = np.array([result.score(found.experiment.score) for result in whole])
            areas = np.array([result.training.area(0, env.steps) for result in whole])
            rows.append(
                [
                    *(env.id, whole[0].facts["variation"], str(len(whole)), _shown(mean_interval(scores))),
                    *(_shown(interval(iqm, scores[:, None])), _human(env, scores), _shown(mean_interval(areas))),
                    *_threshold(found, env, whole),
                    f"{np.mean([result.facts['seconds'] for result in whole]) / 60:.1f}",
                ]
            )
    return rows


def _threshold(found: Findings, env: Environment, whole: Sequence[Result]) -> Row:
    """Returns the level halfway from the beginning to the best variation's score, and the steps to reach it."""
    groups = [[r for r in found.results[v.name, env.id] if r.is_whole] for v in found.experiment.variations]
    low, high = scale(found.experiment.score, [group for group in groups if group])
    steps = [steps_to(result, (low + high) / 2) for result in whole]
    median, reached = float(np.median(steps)), sum(map(math.isfinite, steps))
    return [f"{(low + high) / 2:.4g}", f"{median:,.0f} ({reached})" if math.isfinite(median) else f"- ({reached})"]


def _overall_rows(found: Findings) -> list[Row]:
    """Returns the interquartile means of scores on a common scale, at the end of the runs, over all environments."""
    bands, human = aggregated(found, "steps"), _human_matrices(found)
    return [
        [
            variation.name,
            _shown(Interval(*(float(b[-1]) for b in bands[variation.name][1:]))) if bands else "",
            _shown(interval(iqm, human[variation.name])) if human else "",
        ]
        for variation in found.experiment.variations
        if bands or human
    ]


def _human_matrices(found: Findings) -> dict[str, Floats]:
    """Returns human-normalised scores [seeds, games] by variation, if all games are Atari and no run is missing."""
    experiment = found.experiment
    if found.whole < found.needed or not all(is_atari(env.id) for env in experiment.envs):
        return {}
    return {
        v.name: np.array(
            [
                [human_normalized(env.id, result.score(experiment.score)) for result in found.shared(v.name, env)]
                for env in experiment.envs
            ],
            np.float64,
        ).T
        for v in experiment.variations
    }


def _human(env: Environment, scores: Floats) -> str:
    normalized = human_normalized(env.id, scores.mean())
    return "" if normalized is None else f"{normalized:.3f}"


def _provenance(runs: Sequence[Result]) -> dict[str, str]:
    """Returns how runs were made: each fact with all its values."""
    facts = [result.facts for result in runs]
    seconds = sum(float(f["seconds"]) for f in facts)
    whole = sum(result.is_whole for result in runs)
    cut = f" ({whole} whole)" if whole < len(runs) else ""
    return {
        "Seeds": _listed(f["seed"] for f in facts),
        "Runs": f"{len(runs)}{cut}, {seconds / HOUR:.2f} hours, {seconds / 60 / len(runs):.1f} minutes each on average",
        "Commits": _listed(f.get("commit", "unknown") for f in facts),
        "Processors": _listed(f.get("processor", "not noted") for f in facts),
        "Cores": _listed(f.get("cores", "not noted") for f in facts),
        "Versions": ", ".join(
            f"{shown} {_listed(f['versions'].get(name, 'unknown') for f in facts)}" for name, shown in LIBRARIES.items()
        ),
    }


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, sorted(set(values), key=lambda value: (isinstance(value, str), value))))


def _changed(runs: Sequence[Result]) -> dict[str, str]:
    """Returns the settings that differ from the defaults in some run, each with all its values."""
    settings = [result.facts["settings"] for result in runs]
    names = sorted({name for some in settings for name in some} - {"env"})
    complete = [_complete(some) for some in settings]
    return {name: _listed(_text(some[name]) for some in complete if name in some) for name in names}


def _complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all settings of a run, given those that differ from the defaults."""
    chosen = {**defaults(), **settings}
    return {**default_arguments(chosen["network"]), **chosen}


def _settings_table(findings: Sequence[Findings]) -> bytes:
    """Returns a CSV table with a row per experiment, variation and environment, and a column per setting."""
    rows = {}
    for found in findings:
        for env, group in found.groups:
            key = found.experiment.name, str(group[0].facts["variation"]), env.id
            rows[key] = _complete({"total_timesteps": env.steps, **group[0].facts["settings"]})
    columns = sorted({name for row in rows.values() for name in row} - {"env"})
    cells = ([*key, *(_text(row[name]) if name in row else "" for name in columns)] for key, row in rows.items())
    return csv_lines([[*SETTINGS_COLUMNS, *columns], *cells])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(found: Interval) -> str:
    shown = f"{found.estimate:.4g}"
    return shown if math.isnan(found.low) else f"{shown} [{found.low:.4g}, {found.high:.4g}]"
