"""Reproduces published results: `python -m acer_tf.reproduce minatar-original`."""

import dataclasses
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.cli.output import print_table
from acer_tf.cli.parsing import Positional
from acer_tf.errors import InputError
from acer_tf.experiments.collecting import collect
from acer_tf.experiments.experiment import Experiment, Window
from acer_tf.experiments.findings import find, read_results
from acer_tf.experiments.markdown import PAGE, all_findings, check_folder, check_index, rows, write_index, write_page
from acer_tf.experiments.plan import Planned, plan, selected
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.experiments.results import SEEDS, check_same, read, write
from acer_tf.plots.pages import require_packages
from acer_tf.schema import Count
from acer_tf.storage.durable import writing
from acer_tf.system.command_line import program
from acer_tf.system.console import counted, say
from acer_tf.trials.execution import Execution
from acer_tf.trials.scheduler import Trial

RESULTS = Path("docs/results")


@dataclasses.dataclass(frozen=True)
class Reproduce(Execution):
    """Runs an experiment, keeps the results of all seeds in two CSV files, and writes a report on them.

    Given again, the command continues where it stopped and skips seeds that have results, on whatever machine they
    ran. It adopts runs that a sweep has left in OUT/VARIATION/ENVIRONMENT/seed-N with the same settings.
    """

    name: Positional[str | None] = None
    """The experiment (--list shows them), or your own file, ending in .yml."""
    list: bool = False
    """Show all experiments, their costs, which parts have been run, and the results."""
    seeds: Count | None = None
    """Number of seeds to run for each variation and environment; None takes the experiment's."""
    steps: Count | None = None
    """Agent steps of each run; None takes the experiment's. Any other number needs its own --results folder."""
    variations: tuple[str, ...] = ()
    """Run only these variations."""
    envs: tuple[str, ...] = ()
    """Run only in these environments; one that your own file gives as module:id must be named here."""
    out: Path | None = None
    """Folder for the run folders; None takes runs/NAME."""
    results: Path = RESULTS
    """Folder for NAME/seeds.csv, NAME/curves.csv and the reports."""
    report_only: bool = False
    """Run nothing: only collect results from existing run folders, if any, and write the report."""

    def run(self) -> int:
        """Lists, reports or runs; returns the exit status.

        Raises:
            InputError: there is no such experiment, a flag or setting cannot work, or a result has other settings.
        """
        if self.list:
            print_table(("experiment", "size", "time", "runs", "result"), rows(all_findings(self.results)))
            return 0
        if self.name is None:
            raise InputError(f"no experiment is given; expected one of {', '.join(experiment_names())}, or --list.")
        self.check()
        require_packages()
        if self.steps is not None and self.results == RESULTS:
            raise InputError("--steps makes this another experiment, which needs a folder of its own: --results DIR.")
        whole = load_experiment(self.name)
        if self.steps is not None:
            whole = whole._replace(envs=tuple(env._replace(steps=self.steps) for env in whole.envs))
        if self.results == RESULTS and whole.name in experiment_names() and self.name != whole.name:
            raise InputError(
                f"{self.name} has the name of an experiment of this package, which keeps its results in {RESULTS}; "
                "rename it, or choose another folder with --results."
            )
        check_index(self.results)
        check_folder(self.results / whole.name, whole)
        status = self._run(selected(whole, self.variations, self.envs))
        self._report(whole)
        return status

    def _run(self, experiment: Experiment) -> int:
        """Runs what is missing, and keeps results as they come."""
        folder = self.results / experiment.name
        out = Path("runs") / experiment.name if self.out is None else self.out
        planned = plan(experiment, self.seeds, out, self, self.envs)
        missing = _missing(folder, planned, experiment.score)
        of_trial: dict[Trial, Planned] = {p.trial: p for p in missing}
        say(f"{experiment.name}: {counted(len(planned), 'run')}, {len(planned) - len(missing)} of them in {folder}")
        if self.report_only or not missing:
            return 0

        def keep_one(trial: Trial) -> None:
            try_to_keep(folder, of_trial[trial], experiment.score)

        status = self.run_all([p.trial for p in missing], out, keep_one)
        keep(folder, missing, experiment.score)  # stopped runs have part of their curve
        return status

    def _report(self, experiment: Experiment) -> None:
        folder = self.results / experiment.name
        found = find(experiment, read_results(folder, experiment))
        envs = [env.id for env in experiment.envs]
        words = [str(self.name), *(["--envs", *envs] if any(":" in env for env in envs) else [])]
        words += [] if self.steps is None else ["--steps", str(self.steps)]
        if self.results != RESULTS:  # pages in the repository must not name folders of a machine
            words += ["--results", str(self.results)]
            words += [] if self.out is None else ["--out", str(self.out)]
        with writing(folder / PAGE):
            write_page(folder, found, f"{program('acer_tf.reproduce')} {shlex.join(words)}")
        for verdict in found.verdicts:
            env = f"{verdict.env}: " if verdict.env else ""
            say(f"{verdict.outcome.value}: {env}{verdict.question}: {verdict.numbers}")
        say(f"{found.whole} of {found.needed} runs are complete; report: {folder / PAGE}")
        if self.steps is None and experiment.name in experiment_names():
            with writing(self.results / PAGE):
                write_index(self.results)


def _missing(folder: Path, planned: Sequence[Planned], window: Window) -> list[Planned]:
    """Returns the runs without a complete result, after collecting results from run folders."""
    found = read(folder)
    for p in planned:
        if p.key in found:
            check_same(folder, found[p.key], p)
    keep(folder, [p for p in planned if p.key not in found or not found[p.key].is_whole], window)
    found = read(folder)
    return [p for p in planned if p.key not in found or not found[p.key].is_whole]


def try_to_keep(folder: Path, planned: Planned, window: Window) -> None:
    """Keeps the result of a run; if that fails, as on a full disk, prints a message, and other runs go on."""
    try:
        keep(folder, [planned], window)
    except InputError as error:
        say(f"the result of {planned.trial.folder} is not kept yet: {error}", is_error=True)


def keep(folder: Path, planned: Iterable[Planned], window: Window) -> None:
    """Keeps the results of runs, complete or not, unless longer ones are there, and recomputes all scores."""
    found = [result for p in planned if (result := collect(p)) is not None]
    if found or (folder / SEEDS).exists():
        with writing(folder):
            write(folder, found, window)


main = command("acer_tf.reproduce", Reproduce, Reproduce.run)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
