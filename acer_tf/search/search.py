"""A search for settings, from its flags to the best preset."""

import contextlib
import dataclasses
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acer_tf.errors import InputError, require
from acer_tf.schema import Count
from acer_tf.search.results import PRESET, TABLE, draw, write_preset, write_table
from acer_tf.search.space import Space, Value, check_space, read_space
from acer_tf.search.study import PrunerName, Runs, SamplerName, StudyQueue, UnwrittenError, open_study
from acer_tf.storage.durable import writing
from acer_tf.system.console import counted, say
from acer_tf.trials.execution import Execution
from acer_tf.trials.flags import words
from acer_tf.trials.scheduler import Trial, TrialStatus, seed_folder

if TYPE_CHECKING:
    import optuna


class Base(NamedTuple):
    """Settings that all trials of a search share.

    Attributes:
        name: name of the environment or preset.
        kind: `environment` or `preset`.
        words: first words of every training command.
        seeds: seeds of each trial.
        given: names of flags that have a value.
        make: makes a training run and its agent steps from label, seed and further words; raises an `InputError` if
            these cannot work.
    """

    name: str
    kind: str
    words: Sequence[str]
    seeds: Sequence[int]
    given: set[str]
    make: Callable[[str, int, Sequence[str]], tuple[Trial, int]]


@dataclasses.dataclass(frozen=True)
class SearchFlags(Execution):
    """How to search for settings."""

    search: Path | None = None
    """File of settings to search (.yml), one per line, such as lr: {low: 1e-4, high: 1e-2, log: true}."""
    trials: Count = 30
    """Number of trials in the search, each with all seeds."""
    sampler: SamplerName = "tpe"
    """How Optuna chooses settings: with tree-structured Parzen estimators (tpe) or at random (random)."""
    pruner: PrunerName = "median"
    """Which trials to end early: those whose learning curve is below the others' median, or those that hyperband
    chooses, or none."""

    def check(self) -> None:
        """Checks the flags.

        Raises:
            InputError: a flag cannot work or is given without --search, or Optuna is not installed.
        """
        super().check()
        if self.search is None:
            for name in ("trials", "sampler", "pruner"):
                if getattr(self, name) != getattr(SearchFlags, name):
                    raise InputError(f"--{name} has no effect without --search FILE.")
            return
        require("optuna", "a search needs", "ray")


def search(path: Path, flags: SearchFlags, base: Base, out: Path) -> int:
    """Begins or continues a search in a file's space; leaves a table, the best settings and pictures in `out`.

    Returns:
        The exit status: 0 if all trials are over, at least one of them complete; see `RunningSweep.status`.

    Raises:
        LockedError: another process is using the folder.
        InputError: a flag or the space cannot work, or the folder holds another search.
    """
    space = read_space(path, base.given)
    check_space(path, space, lambda words: base.make("trial", base.seeds[0], words))

    def make(number: int, values: Mapping[str, Value]) -> Runs:
        made = [base.make(_label(number), seed, words(values)) for seed in base.seeds]
        return Runs([trial for trial, _ in made], made[0][1])

    is_well = False
    with flags.sweep(out) as sweep, _unwritten_told():
        study, left = open_study(out, flags.sampler, flags.pruner, sweep.stop)
        same = {"space": space, "kind of settings": base.kind, "command": base.words, "seeds": base.seeds}
        _check_same(study, same, out)

        def told(number: int) -> None:
            try:
                write_table(out / TABLE, study, space)
            except OSError as error:
                say(f"{out / TABLE} cannot be written ({error.strerror}); it will be tried again", is_error=True)
            _print(study, number)

        trials, begun = counted(flags.trials, "trial"), len(study.trials)
        say(f"{trials} with {counted(len(base.seeds), 'seed')} each, {begun} begun before; table: {out / TABLE}")
        queue = StudyQueue(study, left, space, flags.trials, make, sweep.table.is_done, told)

        def report(trial: Trial, status: TrialStatus) -> None:
            sweep.report(trial, queue.label(trial, status))
            queue.note(trial, status)

        sweep.run(queue, report)
        is_well = _conclude(study, space, base, out)
    return sweep.status(is_well)


@contextlib.contextmanager
def _unwritten_told() -> Iterator[None]:
    try:
        yield
    except UnwrittenError as error:
        say(str(error), is_error=True)


def _label(number: int) -> str:
    return f"trial-{number:03d}"


def _check_same(study: "optuna.Study", settings: Mapping[str, Any], out: Path) -> None:
    """Checks that a study has the same settings, or begins it with them."""
    plain = json.loads(json.dumps(settings))
    for name, value in plain.items():
        if study.user_attrs.get(name, value) != value:
            raise InputError(f"{out} holds a search with another {name}; choose another folder with --out.")
        study.set_user_attr(name, value)


def _print(study: "optuna.Study", number: int) -> None:
    trial = study.trials[number]
    value = "" if trial.value is None else f": mean return {trial.value:.6g}"
    say(f"trial {number} {trial.state.name.lower()}{value} ({', '.join(words(trial.params))})")


def _conclude(study: "optuna.Study", space: Space, base: Base, out: Path) -> bool:
    """Writes the results; returns whether all trials are over, at least one of them complete."""
    from optuna.trial import TrialState

    with writing(out / TABLE):  # again, as a full disk may not have taken the last row
        write_table(out / TABLE, study, space)
    whole = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if not whole:
        say("no trial is complete")
        return False
    best = study.best_trial
    run = out / seed_folder(_label(best.number), base.seeds[0])
    trials = counted(len(study.trials), "trial")
    note = f"{base.name}: best of {trials}, mean return {best.value:.6g} over {counted(len(base.seeds), 'seed')}"
    with writing(out / PRESET):
        left = write_preset(out / PRESET, run, note)
    pictures = draw(out, study)
    say(f"best: trial {best.number}, mean return {best.value:.6g} ({', '.join(words(best.params))})")
    beside = [word for word in words(best.params) if word.removeprefix("--").partition("=")[0] in left]
    say(f"preset: {out / PRESET}{', to be given with ' * bool(beside)}{shlex.join(beside)}")
    say(f"pictures: {', '.join(map(str, pictures)) or 'none'}")
    return not study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
