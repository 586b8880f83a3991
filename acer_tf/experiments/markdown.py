"""The pages of results, made only from kept results: one for each experiment, and an index above them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from acer_tf.errors import InputError
from acer_tf.experiments.citing import CITING, SETTINGS, SETTINGS_COLUMNS, TITLE, citing_files
from acer_tf.experiments.experiment import Experiment
from acer_tf.experiments.findings import Findings, cost, find, read_results, summary_of_size
from acer_tf.experiments.pictures import draw
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.experiments.results import SEEDS, replace_files
from acer_tf.experiments.tables import evaluation_rows, score_rows, under_way_rows
from acer_tf.experiments.verdicts import overall
from acer_tf.plots.pages import render
from acer_tf.storage.durable import reading
from acer_tf.storage.lock import exclusive

PAGE = "README.md"
PAGE_TEMPLATE, INDEX_TEMPLATE = (Path(__file__).with_name(name) for name in ("page.md", "index.md"))
INDEX_TITLE = "# Results"
BEGINNINGS = {PAGE: f"{INDEX_TITLE}\n", CITING: f"{TITLE}\n", SETTINGS: ",".join(SETTINGS_COLUMNS)}
"""Beginnings of the files above the reports, by which they are recognised."""
SEARCHES = "searches.md"
"""The page on how presets were found, linked if the folder has it."""
MANY = 10
"""Most seeds to list in full; of more consecutive ones, only the first and the last are shown."""


def write_page(folder: Path, found: Findings, command: str) -> None:
    """Writes README.md, with the command that continues the experiment, and its pictures to a folder.

    Raises:
        InputError: jinja2 or matplotlib is not installed.
        OSError: a file cannot be written.
    """
    pictures = draw(found)
    page = _page(found, {picture.name: picture.title for picture in pictures}, command)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder):
        replace_files(folder, {**{picture.name: picture.content for picture in pictures}, PAGE: page})


def _page(found: Findings, pictures: Mapping[str, str], command: str) -> str:
    experiment, facts = found.experiment, [result.facts for result in found.runs]
    begin, end = (round(100 * fraction) for fraction in experiment.score)
    return render(
        PAGE_TEMPLATE,
        found=found,
        experiment=experiment,
        overall=overall(found.verdicts),
        pictures=pictures,
        window=f"{begin} % to {end} %",
        labels=[reference.label for reference in experiment.references],
        labels_of_curves=[reference.label for reference in experiment.references if reference.curves is not None],
        evaluations=evaluation_rows(found),
        scores=score_rows(found),
        under_way=under_way_rows(found),
        command=command,
        seeds=_seeds(experiment),
        others=sorted({s for e, g in found.groups for r in g if (s := r.facts["seed"]) not in experiment.seeds(e)}),
        versions=sorted({str(f["versions"].get("acer_tf")) for f in facts}),
        commits=sorted({str(f.get("commit", "unknown")) for f in facts}),
        cores=sorted({f["cores"] for f in facts if "cores" in f}),
        cost=cost(found),
    )


def _seed_ranges(seeds: Sequence[int]) -> str:
    is_range = len(seeds) > MANY and len(seeds) == seeds[-1] - seeds[0] + 1
    return f"{seeds[0]} to {seeds[-1]}" if is_range else ", ".join(map(str, seeds))


def _seeds(experiment: Experiment) -> str:
    """Returns the seeds of the runs in words, by environment if some need more seeds than others."""
    of_env = {env.id: _seed_ranges(experiment.seeds(env)) for env in experiment.envs}
    if len({*of_env.values()}) == 1:
        return of_env[experiment.envs[0].id]
    return "; ".join(f"{seeds} ({env})" for env, seeds in of_env.items())


def all_findings(results: Path) -> list[Findings]:
    """Returns the findings of every experiment that ships with this package, from the folder of all results.

    Raises:
        InputError: a file is damaged, or a library of statistics cannot be imported.
    """
    experiments = [load_experiment(name) for name in experiment_names()]
    return [find(experiment, read_results(results / experiment.name, experiment)) for experiment in experiments]


def rows(findings: Sequence[Findings]) -> list[tuple[str, str, str, str, str]]:
    """Returns the name, size, time, runs and result of each experiment as text."""
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
    """Checks that the files above the reports may be written.

    Raises:
        InputError: a file with one of these names exists, but was not written by this package.
    """
    for name, beginning in BEGINNINGS.items():
        path = results / name
        with reading(path):
            if path.exists() and not path.read_text(encoding="utf-8").startswith(beginning):
                raise InputError(f"{path} was not written by acer reproduce; choose another folder with --results.")


def check_folder(folder: Path, experiment: Experiment) -> None:
    """Checks that the results and the page of an experiment may be written.

    Raises:
        InputError: the folder holds other files, but not these.
    """
    with reading(folder):
        names = {path.name for path in folder.glob("[!.]*")}
        page = (folder / PAGE).read_text(encoding="utf-8") if PAGE in names else ""
    if names and SEEDS not in names and not page.startswith(f"# {experiment.title}\n"):
        raise InputError(
            f"{folder} holds files that acer reproduce did not write; choose another folder with --results."
        )


def write_index(results: Path) -> None:
    """Writes the page above the reports, README.md, the page on citing them, and the table of all settings.

    Raises:
        InputError: as for `check_index` and `all_findings`.
        OSError: a file cannot be written.
    """
    check_index(results)
    findings = all_findings(results)
    page = render(
        INDEX_TEMPLATE,
        title=INDEX_TITLE,
        experiments=[*zip(findings, rows(findings), strict=True)],
        page=PAGE,
        with_page=[f.experiment.name for f in findings if (results / f.experiment.name / PAGE).exists()],
        searches=SEARCHES if (results / SEARCHES).exists() else "",
        citing=CITING,
        unfinished=[(f, _duration(cost(f).left)) for f in findings if f.whole < f.needed],
    )
    results.mkdir(parents=True, exist_ok=True)
    with exclusive(results):
        replace_files(results, {PAGE: page, **citing_files(findings)})
