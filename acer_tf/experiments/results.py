"""The results of an experiment's runs, which outlive the run folders: a row in seeds.csv and a curve in curves.csv."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Window
from acer_tf.experiments.plan import Planned
from acer_tf.logs.files import csv_lines
from acer_tf.plots.series import BEYOND, Table, grouped
from acer_tf.storage.durable import delete_unfinished, reading, replace
from acer_tf.storage.lock import exclusive
from acer_tf.storage.run_folder import LOST_REPLAY
from acer_tf.training.resume import describe, differences

SEEDS, CURVES = "seeds.csv", "curves.csv"
DIGITS = 6
NOTED = ("commit", LOST_REPLAY, "cores", "tensorflow_threads", "processor")
"""Facts from the settings of a run folder, if known."""
NEEDED: Mapping[str, Any] = {
    **dict.fromkeys(("variation", "environment"), str),
    **dict.fromkeys(("seed", "steps", "trained", "episodes"), int),
    **dict.fromkeys(("last_100", "seconds"), int | float),
}
"""Facts that every result has, and their types."""
OPTIONAL: Mapping[str, Any] = {"cores": int | None, "processor_seconds": int | float | None}
"""Facts used in computations, if a result has them."""
SCORE = "score"
COLUMNS = (*NEEDED, SCORE, "processor_seconds", *NOTED, "eval_deterministic")
"""First columns of seeds.csv; versions and settings follow, each in its own column."""
GROUPS = ("versions", "settings")
TEXT = ("variation", "environment", "commit", "processor")
"""Columns whose cells are taken literally, like those of versions; all other cells are JSON, or else text."""
CURVE_COLUMNS = ("variation", "environment", "seed", "kind", "steps", "mean_return", "episodes", "seconds")
KINDS = ("training", "evaluation")

Floats = NDArray[np.float64]
Key = tuple[str, str, int]
"""Variation, environment and seed of a run."""


class Returns(NamedTuple):
    """Mean raw returns of a run at K places.

    Attributes:
        steps: [K] float64, agent steps at the end of each bin in which an episode ended, or at each evaluation.
        mean: [K] float64, mean raw return of the bin or evaluation.
        episodes: [K] float64, number of averaged episodes.
        seconds: [K] float64, seconds of training until then; nan for evaluations.
    """

    steps: Floats
    mean: Floats
    episodes: Floats
    seconds: Floats

    def score(self, begin: float, end: float) -> float:
        """Returns the mean over the episodes in (begin, end] agent steps, or nan if there are none."""
        inside = (self.steps > begin) & (self.steps <= end)
        weights = self.episodes[inside]
        return float(np.average(self.mean[inside], weights=weights)) if weights.sum() else math.nan

    def area(self, begin: float, end: float) -> float:
        """Returns the mean over agent steps from begin to end, interpolated linearly, or nan without any."""
        if not len(self.steps):
            return math.nan
        x = np.union1d([begin, end], self.steps[(self.steps > begin) & (self.steps < end)])
        return float(np.trapezoid(np.interp(x, self.steps, self.mean), x)) / (end - begin)


NOTHING = Returns(*np.empty((4, 0)))


class Result(NamedTuple):
    """The result of a run.

    Attributes:
        facts: plain values by name: variation, environment, seed, steps (of a complete run), trained (steps so far),
            episodes, last_100 (mean raw return of the last hundred episodes), seconds, versions, settings (`decisive`
            ones), and, if known, processor_seconds, those of `NOTED`, and eval_deterministic.
        training: the episodes of training, in bins of 1/100 of a run.
        evaluations: the evaluations during training; empty without any.
    """

    facts: Mapping[str, Any]
    training: Returns
    evaluations: Returns = NOTHING

    @property
    def key(self) -> Key:
        """Variation, environment and seed."""
        return self.facts["variation"], self.facts["environment"], self.facts["seed"]

    def score(self, window: Window) -> float:
        """Returns the mean return of the training episodes in a part of the complete run, or nan without any."""
        begin, end = window
        return self.training.score(begin * self.facts["steps"], end * self.facts["steps"])

    @property
    def is_whole(self) -> bool:
        """Whether the run is complete."""
        return int(self.facts["trained"]) >= int(self.facts["steps"])


def replace_files(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Replaces files of an `exclusive` folder one by one, and deletes remnants of earlier attempts.

    Raises:
        OSError: a file cannot be written.
    """
    for name, content in contents.items():
        delete_unfinished(folder / name)
        replace(folder / name, content.encode() if isinstance(content, str) else content)


def read(folder: Path) -> dict[Key, Result]:
    """Reads the results of an experiment, if the folder has any.

    Raises:
        InputError: a file cannot be read, or is damaged.
    """
    if not (folder / SEEDS).exists():
        return {}
    with reading(folder), exclusive(folder):
        return _read(folder)


def write(folder: Path, results: Iterable[Result], window: Window) -> None:
    """Adds results to those of an experiment; a result replaces an earlier one of the same run unless it is shorter.

    Several processes may write to the folder at once. Every run's score is recomputed for the window.

    Raises:
        InputError: the folder has one of these runs with different settings, or one of its files is damaged.
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder):
        kept = _read(folder) if (folder / SEEDS).exists() else {}
        for result in results:
            old = kept.get(result.key)
            if old is not None:
                _check_same(folder, result.key, _settings(old), _settings(result))
            if old is None or int(old.facts["trained"]) < int(result.facts["trained"]):
                kept[result.key] = result
        ordered = [kept[key] for key in sorted(kept)]
        curves = [CURVE_COLUMNS, *(row for result in ordered for row in _curve_rows(result))]
        # Seeds come last, so that each of their rows has a curve.
        replace_files(folder, {CURVES: csv_lines(curves), SEEDS: csv_lines(_seed_rows(ordered, window))})


def check_same(folder: Path, result: Result, planned: Planned) -> None:
    """Checks that a result in a folder belongs to a planned run.

    Raises:
        InputError: it has other settings.
    """
    _check_same(folder, result.key, _settings(result), {**planned.settings, "steps": planned.env.steps})


def _check_same(folder: Path, key: Key, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if changed := differences(old, new):
        variation, env, seed = key
        raise InputError(
            f"{variation}, {env}, seed {seed} in {folder / SEEDS} has different settings: {describe(changed)}; choose "
            "another --results, or delete the row."
        )


def _settings(result: Result) -> dict[str, Any]:
    return {**result.facts["settings"], "steps": result.facts["steps"]}


def _read(folder: Path) -> dict[Key, Result]:
    returns = _read_returns(folder / CURVES)
    table = Table(folder / SEEDS, "results of acer reproduce")
    found = {}
    for number, cells in enumerate(zip(*table.text(*table.columns), strict=True), 1):
        facts = _facts(table, number, cells)
        key = facts["variation"], facts["environment"], facts["seed"]
        training, evaluations = (returns.get((*map(str, key), kind), NOTHING) for kind in KINDS)
        if training.episodes.sum() < facts["episodes"]:
            named = f"{key[0]:.80}, {key[1]:.80}, seed {key[2]}"
            raise InputError(
                f"{folder / CURVES} has {training.episodes.sum():.0f} of the {facts['episodes']} episodes of {named}; "
                "the file is damaged."
            )
        found[key] = Result(facts, training, evaluations)
    return found


def _facts(table: Table, number: int, cells: Sequence[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {group: {} for group in GROUPS}
    for column, cell in zip(table.columns, cells, strict=True):
        if cell and column != SCORE:
            group, _, name = column.partition(".")
            (facts[group] if group in GROUPS else facts)[name or column] = _value(column, cell)
    for name, kind in {**NEEDED, **OPTIONAL}.items():
        value = facts.get(name)
        if not isinstance(value, kind) or (isinstance(value, int | float) and not abs(value) < BEYOND):
            raise InputError(
                f"row {number} of {table.path} has {name} {value!r:.80}; expected a result of acer reproduce."
            )
    return facts


def _read_returns(path: Path) -> dict[tuple[str, ...], Returns]:
    """Reads the curves by variation, environment, seed and kind, all as text."""
    table = Table(path, "curves of acer reproduce")
    numbers = np.array([*table.series("steps", "mean_return"), *table.numbers("episodes", "seconds")])
    return {key: Returns(*numbers[:, rows]) for key, rows in grouped(*table.text(*CURVE_COLUMNS[:4])).items()}


def _seed_rows(results: Sequence[Result], window: Window) -> list[list[str]]:
    """Returns the rows of seeds.csv, beginning with the header."""
    flat = []
    for result in results:
        facts = {name: value for name, value in result.facts.items() if name not in GROUPS}
        facts |= {f"{group}.{name}": value for group in GROUPS for name, value in result.facts[group].items()}
        score = result.score(window)
        if result.is_whole and not math.isnan(score):
            facts[SCORE] = rounded(score)
        flat.append(facts)
    columns = [*COLUMNS, *sorted({name for facts in flat for name in facts} - {*COLUMNS})]
    return [columns, *([_cell(name, facts[name]) if name in facts else "" for name in columns] for facts in flat)]


def _curve_rows(result: Result) -> Iterator[list[str]]:
    for kind, returns in zip(KINDS, (result.training, result.evaluations), strict=True):
        for steps, mean, episodes, seconds in zip(*returns, strict=True):
            numbers = f"{steps:.12g}", f"{mean:.{DIGITS}g}", f"{episodes:.0f}", f"{seconds:.{DIGITS}g}"
            yield [*map(str, result.key), kind, *numbers]


def _value(column: str, cell: str) -> Any:
    if column in TEXT or column.startswith("versions."):
        return cell
    try:
        value = json.loads(cell)
        json.dumps(value, ensure_ascii=False).encode()  # fails for halves of surrogate pairs; such a cell is text
    except (ValueError, RecursionError):
        return cell
    return value


def _cell(column: str, value: Any) -> str:
    is_read_back = isinstance(value, str) and value.isprintable() and value and _value(column, value) == value
    return str(value) if is_read_back else json.dumps(value)


def rounded(value: float) -> float:
    """Returns a number rounded to the digits in the files."""
    return float(f"{value:.{DIGITS}g}")
