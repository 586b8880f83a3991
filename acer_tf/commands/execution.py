"""Where trials run, and the course of a sweep: its table, its folder's lock, what goes on after a stop."""

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from acer_tf.commands.resume import resuming
from acer_tf.commands.signals import stop_on_signals
from acer_tf.commands.statuses import Status
from acer_tf.commands.sweep_table import SweepTable, summary
from acer_tf.commands.trials import DONE, FAILED, LOCKED, Trial, run_trials
from acer_tf.errors import InputError
from acer_tf.plots.intervals import LAST_EPISODES
from acer_tf.storage.lock import locked
from acer_tf.system.command_line import command_line
from acer_tf.system.threads import cores

TABLE = "sweep.csv"


def _nothing(trial: Trial) -> None:
    pass


@dataclasses.dataclass(frozen=True)
class Execution:
    """Flags of every command that runs trials."""

    workers: int = 1
    """Trials that run side by side, each with an equal share of the cores."""

    def run_all(self, trials: Sequence[Trial], out: Path, done: Callable[[Trial], None] = _nothing) -> int:
        """Runs the trials that are not done yet.

        Args:
            trials: the trials, in the order in which they start.
            out: folder for the table, sweep.csv, and all run folders.
            done: called with each trial that has ended well, now or before.

        Returns:
            The exit status: 0 if all trials are done, 1 if one failed; 129, 130 or 143 after a signal.

        Raises:
            LockedError: another sweep works in the folder.
            InputError: the folder cannot be made.
        """
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{out} cannot be made ({error.strerror}); choose another folder with --out.") from error
        with locked(out), stop_on_signals() as stop:
            table = SweepTable(out / TABLE)
            remaining = [trial for trial in trials if not table.is_done(trial)]
            for trial in trials:
                if trial not in remaining:
                    done(trial)
            print(f"{len(trials)} trials, {len(trials) - len(remaining)} done before; table: {out / TABLE}")

            def report(trial: Trial, status: str) -> None:
                _report(table, trial, status)
                if status == DONE:
                    done(trial)

            run_trials(remaining, self.workers, stop, report)
            rows = table.rows(trials)
        print(summary(rows))
        if stop():
            print(f"to go on: {shlex.join(resuming(command_line()))}")
        return stop.status if stop() or {row["status"] for row in rows} <= {DONE} else Status.FAILED

    def shares(self, given: set[str], names: Sequence[str]) -> list[str]:
        """Returns the flags that give each of several trials its share of the cores.

        Args:
            given: flags that the trial has already; they are left out.
            names: flags of counts, such as threads.
        """
        if self.workers == 1:
            return []
        share = str(max(1, cores() // self.workers))
        return [word for name in names if name not in given for word in (f"--{name}", share)]


def _report(table: SweepTable, trial: Trial, status: str) -> None:
    row = table.update(trial, status)
    details = ""
    if status == DONE:
        details = f": {int(row['steps']):,} steps, mean return {row['mean_return']} of the last {LAST_EPISODES}"
    elif status == FAILED:
        details = f": {_last_line(trial.log)} ({trial.log})"
    elif status == LOCKED:
        details = f": {_last_line(trial.log)} It starts when that process has ended."
    print(f"{status} {trial.name} seed {trial.seed}{details}")


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"
