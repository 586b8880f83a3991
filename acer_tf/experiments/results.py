"""The result of a seed as a small CSV file, which outlives the run: a binned curve below a header of facts."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.experiments.plan import Planned, decisive
from acer_tf.plots.curves import curve
from acer_tf.plots.sources import (
    Series,
    Table,
    clock,
    has_rows,
    read_returns,
    read_series,
    trained_steps,
)
from acer_tf.storage.durable import reading, replacing
from acer_tf.storage.run_files import EPISODES, EVALUATIONS, MONITOR
from acer_tf.storage.run_folder import LOST_REPLAY, read_settings
from acer_tf.storage.usage import read_processor_seconds
from acer_tf.storage.yaml_text import parse_settings
from acer_tf.training.resume import describe, differences

BINS = 100
COLUMNS = ("steps", "mean_return", "episodes", "seconds")
DIGITS = 6
NEEDED: Mapping[str, Any] = {
    **dict.fromkeys(("variation", "environment"), str),
    **dict.fromkeys(("seed", "steps", "trained", "episodes"), int),
    **dict.fromkeys(("last_100", "seconds"), int | float),
    **dict.fromkeys(("versions", "settings"), dict),
}
"""Facts that every result has, and their kinds."""


class Result(NamedTuple):
    """What is kept of a seed, K bins of 1/100 of a run.

    Attributes:
        facts: by name, plain values: variation, environment, seed, steps (of a whole run), trained (steps so far),
            episodes, last_100 (mean raw return of the last hundred episodes), seconds, processor_seconds, commit,
            versions, cores, settings (`decisive` ones); of a run that has some, evaluations (their steps and mean
            returns, the number of episodes of each, and whether actions were deterministic).
        steps: [K] float64, agent steps at the end of each bin in which an episode ended.
        mean: [K] float64, mean raw return of the episodes that ended in it.
        episodes: [K] float64, their number.
        seconds: [K] float64, seconds of training until the end of the bin.
    """

    facts: Mapping[str, Any]
    steps: NDArray[np.float64]
    mean: NDArray[np.float64]
    episodes: NDArray[np.float64]
    seconds: NDArray[np.float64]

    @property
    def is_whole(self) -> bool:
        """Whether the run has come to its end."""
        return int(self.facts["trained"]) >= int(self.facts["steps"])

    def score(self, begin: float, end: float) -> float:
        """Returns the mean raw return of the episodes that ended in a part of the run; nan if none did.

        Args:
            begin: agent steps; bins that end there are left out.
            end: agent steps; the bin that ends there is included.
        """
        return window_mean(self.steps, self.mean, self.episodes, begin, end)

    def evaluated(self, begin: float, end: float) -> float:
        """Returns the mean of the evaluations in (begin, end] agent steps; nan if there is none."""
        found = self.facts.get("evaluations", {"steps": (), "mean_return": ()})
        steps, mean = np.array(found["steps"], np.float64), np.array(found["mean_return"], np.float64)
        return window_mean(steps, mean, np.ones(len(steps)), begin, end)


def window_mean(
    steps: NDArray[np.float64],
    mean: NDArray[np.float64],
    episodes: NDArray[np.float64],
    begin: float,
    end: float,
) -> float:
    """Returns the mean over episodes of the bins in (begin, end]; nan if there is none.

    Args:
        steps: [K] ends of the bins.
        mean: [K] mean return in each.
        episodes: [K] number of episodes in each.
        begin: agent steps.
        end: agent steps.
    """
    inside = (steps > begin) & (steps <= end)
    return float(np.average(mean[inside], weights=episodes[inside])) if episodes[inside].sum() else float("nan")


def path_of(folder: Path, planned: Planned) -> Path:
    """Returns the file of a training's result in the folder of the experiment's results."""
    return folder / planned.place.with_suffix(".csv")


def collect(planned: Planned) -> Result | None:
    """Makes a result of a run folder, of a run that has ended or is under way.

    Returns:
        The result; None if there is no run, or no episode has ended yet.

    Raises:
        InputError: the run has other settings, or a file of it cannot be read.
    """
    folder, total = planned.trial.folder, planned.env.steps
    settings = read_settings(folder)
    if settings is None or not has_rows(folder / EPISODES) or not has_rows(folder / MONITOR):
        return None
    if changed := differences(decisive(settings), {**planned.settings}):
        raise InputError(f"the run in {folder} is of other settings: {describe(changed)}; choose another --out.")
    if settings.get("seed") != planned.seed:
        raise InputError(f"the run in {folder} has seed {settings.get('seed')}; expected {planned.seed}.")
    episodes = read_returns(folder)
    steps, returns = episodes
    times = clock(folder)
    binned = curve("", "", Series(np.minimum(steps, total), returns), total / BINS)
    trained = trained_steps(folder, episodes)
    used = read_processor_seconds(folder, min(trained, total))
    facts = {
        "variation": planned.variation,
        "environment": planned.env.id,
        "seed": planned.seed,
        "steps": total,
        "trained": trained,
        "episodes": len(returns),
        "last_100": _rounded(returns[-100:].mean()),
        "seconds": _rounded(times[1][-1]),
        **({} if used is None else {"processor_seconds": _rounded(used)}),
        **{name: settings[name] for name in ("commit", LOST_REPLAY, "cores", "tensorflow_threads") if name in settings},
        "versions": settings.get("versions", {}),
        "settings": dict(planned.settings),
        **_evaluations(folder, settings, total),
    }
    return Result(facts, binned.x, binned.mean, binned.values.astype(float), np.interp(binned.x, *times))


def write(path: Path, result: Result) -> None:
    """Writes a result; replaces one of the same training that is not longer.

    Raises:
        InputError: the file holds another training's result.
        OSError: it cannot be written.
    """
    if path.exists():
        old = read(path)
        if changed := differences(_identity(old), _identity(result)):
            raise InputError(f"{path} is of other settings: {describe(changed)}; choose another --results.")
        if int(old.facts["trained"]) >= int(result.facts["trained"]):
            return
    text = io.StringIO()
    for line in yaml.safe_dump(dict(result.facts), sort_keys=False, width=10_000).splitlines():
        text.write(f"# {line}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in zip(result.steps, result.mean, result.episodes, result.seconds, strict=True):
        writer.writerow([f"{row[0]:.0f}", f"{row[1]:.{DIGITS}g}", f"{row[2]:.0f}", f"{row[3]:.{DIGITS}g}"])
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def read(path: Path) -> Result:
    """Reads a result.

    Raises:
        InputError: the file cannot be read, or is no result.
    """
    with reading(path):
        table = Table(path, "a result of acer reproduce")
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in table.comments)
    facts = parse_settings(str(path), text.encode())
    for name, kind in NEEDED.items():
        if not isinstance(facts.get(name), kind):
            raise InputError(
                f"{path} has {name} {facts.get(name)!r} in its header; expected a result of acer reproduce."
            )
    return Result(facts, *table.numbers(*COLUMNS))


def check_same(result: Result, planned: Planned, path: Path) -> None:
    """Checks that a result is that of a planned training.

    Raises:
        InputError: it has other settings.
    """
    expected = {**planned.settings, "seed": planned.seed, "steps": planned.env.steps}
    facts = result.facts
    changed = differences({**facts["settings"], "seed": facts["seed"], "steps": facts["steps"]}, expected)
    if changed:
        raise InputError(
            f"{path} is of other settings: {describe(changed)}; choose another --results, or move the file."
        )


def _evaluations(folder: Path, settings: Mapping[str, Any], total: int) -> dict[str, Any]:
    """Returns the fact `evaluations`; nothing for a run without."""
    if not has_rows(folder / EVALUATIONS):
        return {}
    found = read_series(folder, "eval")
    evaluations = {
        "episodes": settings["eval_episodes"],
        "deterministic": settings.get("eval_deterministic", False),
        "steps": [min(int(step), total) for step in found.x],
        "mean_return": [_rounded(value) for value in found.values],
    }
    return {"evaluations": evaluations}


def _identity(result: Result) -> dict[str, Any]:
    facts = result.facts
    return {**facts["settings"], **{name: facts[name] for name in ("variation", "environment", "seed", "steps")}}


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
