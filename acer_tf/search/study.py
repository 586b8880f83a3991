"""An Optuna study as a queue of trials: asks for settings, prunes by learning curves, and tells results."""

import contextlib
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from acer_tf.errors import InputError
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.plots.series import returns_so_far
from acer_tf.search.space import Space, Value, suggested
from acer_tf.storage.durable import reading
from acer_tf.system.console import say
from acer_tf.trials.scheduler import Trial, TrialQueue, TrialStatus

if TYPE_CHECKING:
    import optuna

RUNGS = 20
"""Equal parts of a training run, at whose ends a trial can be pruned."""
LOOK_SECONDS = 3.0
"""Seconds between two checks of the learning curves."""
JOURNAL = "search.journal"
WITHOUT_PRUNING = 5
"""Finished trials before the median prunes any."""
RANDOM_TRIALS = 10
"""Random trials before the sampler has enough data."""

SamplerName = Literal["tpe", "random"]
PrunerName = Literal["median", "hyperband", "none"]


class Runs(NamedTuple):
    """The training runs of one of the study's trials, one per seed, and the agent steps of each."""

    trials: Sequence[Trial]
    total_steps: int


class UnwrittenError(InputError):
    """A signal arrived while the journal could not be written."""


def open_study(
    folder: Path, sampler: SamplerName, pruner: PrunerName, stop: Callable[[], bool] = lambda: False
) -> tuple["optuna.Study", list["optuna.Trial"]]:
    """Opens the study in a folder, which this process has locked, or begins one.

    While the journal cannot be written, for instance on a full disk, the study waits until it can be or `stop` is true.

    Returns:
        The study, and its trials that were running when it ended.

    Raises:
        InputError: the journal is damaged or cannot be read; or, later on, could not be written until a stop.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal = (folder / JOURNAL).absolute()  # Optuna's lock is a link, which needs an absolute path
    _mend(journal)
    try:
        storage = JournalStorage(_patient_journal(journal, stop))
        study = optuna.create_study(
            study_name="search",
            storage=storage,
            direction="maximize",
            load_if_exists=True,
            pruner=_pruner(pruner),
        )
    except InputError:
        raise
    except Exception as error:  # whatever Optuna raises for lines that are not its own
        raise InputError(f"{journal} is damaged ({error!r}); choose another folder with --out.") from error
    seed = len(study.get_trials(deepcopy=False))  # another one after each start, lest trials repeat
    study.sampler = (
        optuna.samplers.RandomSampler(seed=seed)
        if sampler == "random"
        else optuna.samplers.TPESampler(n_startup_trials=RANDOM_TRIALS, constant_liar=True, seed=seed)
    )
    number = storage.get_study_id_from_name(study.study_name)
    left = study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
    trials = [storage.get_trial_id_from_study_id_trial_number(number, trial.number) for trial in left]
    return study, [optuna.Trial(study, trial) for trial in trials]


def _pruner(name: PrunerName) -> "optuna.pruners.BasePruner":
    from optuna import pruners

    if name == "median":
        return pruners.MedianPruner(n_startup_trials=WITHOUT_PRUNING, n_warmup_steps=RUNGS // 4)
    if name == "hyperband":
        return pruners.HyperbandPruner(min_resource=1, max_resource=RUNGS)
    return pruners.NopPruner()


def _mend(journal: Path) -> None:
    """Removes what a killed process has left: the journal's lock and an incomplete line.

    Raises:
        InputError: a complete line is damaged, or the journal cannot be read.
    """
    journal.with_name(f"{journal.name}.lock").unlink(missing_ok=True)
    if journal.is_symlink() or (journal.exists() and not journal.is_file()):  # a pipe or a device may never end
        raise InputError(f"{journal} is not a file; choose another folder with --out.")
    if not journal.exists():
        return
    with reading(journal), journal.open("r+b") as file:
        lines = file.read().split(b"\n")
        file.truncate(file.tell() - len(lines[-1]))
    for number, line in enumerate(lines[:-1], 1):
        if not _is_entry(line):
            # Without the line, trials might be numbered differently.
            raise InputError(f"line {number} of {journal} is damaged; choose another folder with --out.")


def _is_entry(line: bytes) -> bool:
    try:
        return "op_code" in json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return False


def _patient_journal(journal: Path, stop: Callable[[], bool]) -> "optuna.storages.journal.BaseJournalBackend":
    from optuna.storages.journal import JournalFileBackend

    class Patient(JournalFileBackend):
        """Waits while it cannot write, and never leaves part of a line in the file."""

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            size, is_told = journal.stat().st_size, False
            while True:
                try:
                    return super().append_logs(logs)
                except OSError as error:
                    with contextlib.suppress(OSError):
                        os.truncate(journal, size)
                    if stop():
                        raise UnwrittenError(f"{journal} cannot be written ({error.strerror}); go on later.") from error
                    if not is_told:
                        say(f"{journal} cannot be written ({error.strerror}); the search waits until it can be")
                    is_told = True
                    time.sleep(LOOK_SECONDS)

    return Patient(str(journal))


class Candidate:
    """A trial of the study, with its training runs, and whether its result has been told."""

    def __init__(self, trial: "optuna.Trial", runs: Runs, done: Collection[Trial], reported: int) -> None:
        """Begins or continues, with runs `done` that have already succeeded and this many parts `reported`."""
        self.trial, self.runs = trial, runs
        self.ended: TrialStatus | None = None
        self._started, self._done = set(done), set(done)
        self._reported = reported

    def note(self, trial: Trial, status: TrialStatus) -> None:
        """Notes that a run has begun or ended."""
        if status == TrialStatus.RUNNING:
            self._started.add(trial)
        elif status == TrialStatus.DONE:
            self._done.add(trial)

    @property
    def is_over(self) -> bool:
        """Whether the study knows the trial's result, or that it has none."""
        return self.ended is not None

    @property
    def is_done(self) -> bool:
        """Whether all runs have succeeded."""
        return len(self._done) == len(self.runs.trials)

    def report(self) -> bool:
        """Reports the mean curve of all seeds so far; returns whether to prune the trial."""
        if len(self._started) < len(self.runs.trials):  # the mean of some seeds is not comparable
            return False
        curves = [learning_curve(t.folder, self.runs.total_steps, t in self._done) for t in self.runs.trials]
        for rung, values in enumerate(zip(*curves, strict=False), 1):
            if rung <= self._reported:  # Optuna warns if a value is reported twice
                continue
            self._reported = rung
            mean = float(np.mean(values))
            if math.isfinite(mean):
                self.trial.report(mean, rung)
                # At the last rung nothing is left to save.
                if rung < RUNGS and self.trial.should_prune():
                    return True
        return False


class StudyQueue(TrialQueue):
    """Trials that a study asks for, until it has enough."""

    def __init__(
        self,
        study: "optuna.Study",
        left: Sequence["optuna.Trial"],
        space: Space,
        count: int,
        make: Callable[[int, Mapping[str, Value]], Runs],
        is_done: Callable[[Trial], bool],
        told: Callable[[int], None],
    ) -> None:
        """Continues the trials that were running when the study ended.

        Args:
            study: the study, from `open_study`.
            left: its trials that were running, from `open_study`.
            space: the space to search.
            count: number of trials in the complete study.
            make: makes runs from a trial's number and settings; raises an `InputError` if they cannot work.
            is_done: returns whether a run has already succeeded.
            told: called with a trial's number when the study has been told its result.
        """
        super().__init__()
        self._study, self._space, self._count, self._make = study, space, count, make
        self._told = told
        self._running: set[Trial] = set()
        self._candidates: dict[Trial, Candidate] = {}
        self._next_look = 0.0
        for trial in left:
            reported = study.get_trials(deepcopy=False)[trial.number].intermediate_values
            self._begin(trial, is_done, max(reported, default=0))

    def take(self) -> Trial | None:
        """Returns a run that can start now; asks for further settings if there is none."""
        while (trial := super().take()) is None and self._begun < self._count:
            self._begin(self._study.ask(), lambda trial: False)
        return trial

    def put_back(self, trial: Trial) -> None:
        """Takes back a run whose folder another process uses."""
        if not self._candidates[trial].is_over:
            super().put_back(trial)

    def is_exhausted(self) -> bool:
        """Returns whether all trials of the study have begun and all their runs have been taken."""
        return super().is_exhausted() and self._begun >= self._count

    def superfluous(self) -> Collection[Trial]:
        """Returns the active runs of trials that were pruned or of which another run has failed."""
        if time.monotonic() >= self._next_look:  # the curves are files, which should not be read all the time
            for candidate in {self._candidates[trial] for trial in self._running}:
                if not candidate.is_over and candidate.report():
                    self._end(candidate, None, TrialStatus.PRUNED)
            self._next_look = time.monotonic() + LOOK_SECONDS
        return [trial for trial in self._running if self._candidates[trial].is_over]

    def label(self, trial: Trial, status: TrialStatus) -> TrialStatus:
        """Returns a run's status, `pruned` if it was stopped because its trial was pruned."""
        is_pruned = status == TrialStatus.STOPPED and self._candidates[trial].ended == TrialStatus.PRUNED
        return TrialStatus.PRUNED if is_pruned else status

    def note(self, trial: Trial, status: TrialStatus) -> None:
        """Notes a run's new status."""
        candidate = self._candidates[trial]
        candidate.note(trial, status)
        if status == TrialStatus.RUNNING:
            self._running.add(trial)
            return
        self._running.discard(trial)
        if candidate.is_over:
            return
        if candidate.is_done:
            self._finish(candidate)
        elif status == TrialStatus.FAILED:
            self._end(candidate, None, TrialStatus.FAILED)

    @property
    def _begun(self) -> int:
        return len(self._study.get_trials(deepcopy=False))

    def _begin(self, trial: "optuna.Trial", is_done: Callable[[Trial], bool], reported: int = 0) -> None:
        values = suggested(self._space, trial)
        try:
            runs = self._make(trial.number, values)
        except InputError as error:
            say(f"trial {trial.number} cannot work: {error}", is_error=True)
            trial.set_user_attr("error", str(error))
            self._tell(trial, None, TrialStatus.FAILED)
            return
        candidate = Candidate(trial, runs, [t for t in runs.trials if is_done(t)], reported)
        self._candidates |= dict.fromkeys(runs.trials, candidate)
        if candidate.is_done:
            self._finish(candidate)
        self._waiting.extend(t for t in runs.trials if not is_done(t))

    def _finish(self, candidate: Candidate) -> None:
        candidate.report()  # the last rungs, with which later trials are compared
        returns = [returns_so_far(trial.folder).last_mean for trial in candidate.runs.trials]
        candidate.trial.set_user_attr("returns", returns)
        mean = float(np.mean(returns))
        self._end(candidate, mean, TrialStatus.DONE if math.isfinite(mean) else TrialStatus.FAILED)

    def _end(self, candidate: Candidate, value: float | None, status: TrialStatus) -> None:
        candidate.ended = status
        # Seeds that have not begun need not; running ones are in `superfluous` from now on.
        self._waiting = deque(trial for trial in self._waiting if self._candidates[trial] is not candidate)
        self._locked.remove(candidate.runs.trials)
        self._tell(candidate.trial, value, status)

    def _tell(self, trial: "optuna.Trial", value: float | None, status: TrialStatus) -> None:
        from optuna.trial import TrialState

        states = {
            TrialStatus.DONE: TrialState.COMPLETE,
            TrialStatus.PRUNED: TrialState.PRUNED,
            TrialStatus.FAILED: TrialState.FAIL,
        }
        self._study.tell(trial.number, value if status == TrialStatus.DONE else None, state=states[status])
        self._told(trial.number)


def learning_curve(folder: Path, total_steps: int, is_done: bool) -> list[float]:
    """Returns the mean raw return of the last episodes at the end of each completed part of a run.

    Until the run is done, a part is complete when an episode has ended after it.

    Returns:
        Up to `RUNGS` values; NaN where no episode had ended yet.
    """
    steps, returns = returns_so_far(folder)
    if not len(steps):
        return [math.nan] * (RUNGS * is_done)
    over = RUNGS if is_done else min(RUNGS - 1, int(steps[-1] * RUNGS // total_steps))
    counts = np.searchsorted(steps, np.arange(1, over + 1) * total_steps / RUNGS, side="right")
    return [float(returns[max(0, n - LAST_EPISODES) : n].mean()) if n else math.nan for n in counts]
