"""What is known of all experiments: the table of `--list`, and the page above their reports."""

from collections.abc import Sequence
from pathlib import Path

from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Experiment
from acer_tf.experiments.findings import Findings, cost, find, summary_of_size
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.experiments.report import PAGE
from acer_tf.experiments.results import Result, locked, read, replace_files
from acer_tf.experiments.verdicts import overall
from acer_tf.storage.durable import reading

TITLE = "# Results"
INTRODUCTION = """\
Each experiment tests a published claim. `acer reproduce NAME` runs it, keeps a row for each run in its `seeds.csv` and
the curves in its `curves.csv`, and writes its page and this one from these files alone, so that it can be collected
over weeks and on several machines. A criterion is judged when all of its seeds are there. `acer reproduce --list`
prints this table."""
SEARCHES = "searches.md"
"""The page on how presets were found; linked if the folder has it."""


def read_results(folder: Path, experiment: Experiment) -> dict[tuple[str, str], list[Result]]:
    """Reads the kept results of an experiment, those of its steps, by variation and environment.

    Args:
        folder: that of the experiment's results; need not exist.
        experiment: the whole.

    Raises:
        InputError: a file is damaged.
    """
    steps = {e.id: e.steps for e in experiment.envs}
    found: dict[tuple[str, str], list[Result]] = {(v.name, e): [] for v in experiment.variations for e in steps}
    for (variation, env, _), result in sorted(read(folder).items()):
        if (variation, env) in found and result.facts["steps"] == steps[env]:
            found[variation, env].append(result)
    return found


def all_findings(results: Path) -> list[Findings]:
    """Returns what is known of every experiment that ships with this package.

    Args:
        results: folder of all results.

    Raises:
        InputError: a file is damaged, or a library of statistics cannot be imported.
    """
    experiments = [load_experiment(name) for name in experiment_names()]
    return [find(experiment, read_results(results / experiment.name, experiment)) for experiment in experiments]


def rows(findings: Sequence[Findings]) -> list[tuple[str, str, str, str, str]]:
    """Returns name, size, time, runs and result of each experiment, as text."""
    found = []
    for f in findings:
        result = overall(f.verdicts) if f.runs else "not run"
        found.append((f.experiment.name, summary_of_size(f.experiment), _time(f), f"{f.whole} of {f.needed}", result))
    return found


def _time(f: Findings) -> str:
    hours = cost(f)
    left = f"about {_duration(hours.left)}"
    if not f.runs:
        return left
    spent = f"{_duration(hours.spent)} spent"
    return spent if f.whole >= f.needed else f"{spent}, {left} left"


def _duration(hours: float) -> str:
    return f"{hours:.0f} h" if hours >= 2 else f"{max(1, 60 * hours):.0f} min"


def check_index(results: Path) -> None:
    """Checks that the page above the reports may be written.

    Raises:
        InputError: a file of its name is there, and somebody else's.
    """
    path = results / PAGE
    with reading(path):
        if path.exists() and not path.read_text(encoding="utf-8").startswith(TITLE):
            raise InputError(f"{path} was not written by acer reproduce; choose another folder with --results.")


def write_index(results: Path) -> None:
    """Writes README.md, the page above the reports.

    Raises:
        InputError: the page is somebody else's, or as `all_findings`.
        OSError: it cannot be written.
    """
    check_index(results)
    findings = all_findings(results)
    lines = [
        TITLE,
        "",
        INTRODUCTION,
        "",
        "| experiment | what it tests | runs | time | result |",
        "|---|---|---|---|---|",
    ]
    for f, (name, size, time, runs, result) in zip(findings, rows(findings), strict=True):
        title = f"[{name}]({name}/{PAGE})" if (results / name / PAGE).exists() else name
        lines.append(f"| {title} | {f.experiment.claim} ({size}) | {runs} | {time} | {result} |")
    if (results / SEARCHES).exists():
        what = "How the settings of presets were found, with seeds that no experiment reports"
        lines += ["", f"{what}: [{SEARCHES}]({SEARCHES})."]
    results.mkdir(parents=True, exist_ok=True)
    with locked(results):
        replace_files(results, {PAGE: "\n".join([*lines, ""])})
