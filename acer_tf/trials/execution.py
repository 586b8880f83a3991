"""Runs the trials of a command: shares of the cores, the folder with its table, signals and exit status."""

import contextlib
import dataclasses
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from acer_tf.distributed.access import check_address
from acer_tf.distributed.connection import connected
from acer_tf.distributed.engine import RayEngine
from acer_tf.envs.ids import is_atari
from acer_tf.errors import ExitStatus, InputError, require
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.schema import Count, validate_fields
from acer_tf.storage.durable import writing
from acer_tf.storage.lock import Lease, locked
from acer_tf.system.command_line import command_line
from acer_tf.system.compute import cores
from acer_tf.system.console import counted, never_wait, say
from acer_tf.training.resume import resuming
from acer_tf.training.signals import Stop, stop_on_signals
from acer_tf.trials.scheduler import Engine, LocalEngine, Trial, TrialQueue, TrialStatus, run_trials
from acer_tf.trials.table import SweepTable, summary

TABLE = "sweep.csv"


@dataclasses.dataclass(frozen=True)
class Execution:
    """How to run the trials."""

    workers: Count = 1
    """Trials to run side by side on this machine, each with an equal share of the cores."""
    engine: Literal["local", "ray"] = "local"
    """Where trials run: on this machine, or on a Ray cluster whose nodes share this folder (docs/scale.md)."""
    ray_address: str | None = None
    """HOST:PORT of the cluster's head; None starts Ray on this machine alone."""
    slots: Count | None = None
    """Trials to run side by side on Ray; None takes as many as the cluster has processors for."""
    trial_cpus: Count = 1
    """Processors (and threads) of each trial on Ray."""

    def run_all(
        self,
        trials: Sequence[Trial],
        out: Path,
        done: Callable[[Trial], object] = lambda _: None,
        check: Callable[[Trial], object] = lambda _: None,
    ) -> int:
        """Runs the trials that are not done yet, in order.

        Args:
            trials: the trials, in order.
            out: folder of the table.
            done: called with each trial that has succeeded.
            check: called with each trial to run, before the first one starts.

        Returns:
            The exit status: 0 if all trials are done, 1 if one failed; 129, 130 or 143 after a signal.

        Raises:
            LockedError: another sweep is using the folder.
            InputError: the folder cannot be made.
        """
        with self.sweep(out) as sweep:
            remaining = [trial for trial in trials if not sweep.table.is_done(trial)]
            for trial in remaining:
                check(trial)
            for trial in trials:
                if trial not in remaining:  # earlier results count as well
                    done(trial)
            say(f"{counted(len(trials), 'trial')}, {len(trials) - len(remaining)} done before; table: {out / TABLE}")

            def report(trial: Trial, status: TrialStatus) -> None:
                sweep.report(trial, status)
                if status == TrialStatus.DONE:
                    done(trial)

            sweep.run(TrialQueue(remaining), report)
            rows = sweep.table.rows(trials)
        say(summary(rows))
        return sweep.status(is_well={row["status"] for row in rows} <= {TrialStatus.DONE})

    @contextlib.contextmanager
    def sweep(self, out: Path) -> Iterator["RunningSweep"]:
        """Makes the folder, locks it, and handles signals while the block runs.

        Raises:
            LockedError: another sweep is using the folder.
            InputError: the folder cannot be made.
        """
        never_wait()
        with writing(out, "folder with --out"):
            out.mkdir(parents=True, exist_ok=True)
        with locked(out) as lease, stop_on_signals() as stop:  # two sweeps would write the same table
            yield RunningSweep(self, SweepTable(out / TABLE), stop, lease)

    def shares(self, env_id: str, given: set[str]) -> list[str]:
        """Returns the flags that give each trial its share of the cores, except flags that are given."""
        if self.engine == "local" and self.workers == 1:
            return []
        share = max(1, cores() // self.workers) if self.engine == "local" else self.trial_cpus
        names = ["threads", "num_workers"] if is_atari(env_id) else ["threads"]
        return [word for name in names if name not in given for word in (f"--{name}", str(share))]

    def check(self) -> None:
        """Checks the flags.

        Raises:
            InputError: a flag has a value that cannot work, or belongs to the other engine.
        """
        validate_fields(self)
        of_ray = ("ray_address", "slots", "trial_cpus")
        changed = [name for name in of_ray if getattr(self, name) != getattr(Execution, name)]
        if self.engine == "local" and changed:
            raise InputError(f"--{changed[0]} requires --engine ray.")
        if self.engine == "ray":
            require("ray", "--engine ray needs", "ray")
            if self.workers != 1:
                raise InputError("--workers has no effect with --engine ray; expected --slots.")
            if self.ray_address is not None:
                check_address(self.ray_address)

    @contextlib.contextmanager
    def started(self) -> Iterator[Engine]:
        """Yields the engine; a Ray that it has started ends with the block.

        Raises:
            InputError: there is no connection to Ray; see `connected`.
        """
        if self.engine == "local":
            yield LocalEngine(self.workers)
            return
        cpus = None if self.slots is None else self.slots * self.trial_cpus
        with connected(self.ray_address, cpus) as ray:
            yield RayEngine(ray, self.slots, self.trial_cpus)


class RunningSweep(NamedTuple):
    """A running command's trials: their engine and table, whether a signal has arrived, and the folder's lease."""

    execution: Execution
    table: SweepTable
    stop: Stop
    lease: Lease

    def run(self, queue: TrialQueue, report: Callable[[Trial, TrialStatus], None]) -> None:
        """Runs trials, see `run_trials`; starts no engine without trials."""
        if not queue.is_exhausted():
            with self.execution.started() as engine:
                run_trials(queue, engine, self.stop, report)

    def report(self, trial: Trial, status: TrialStatus) -> None:
        """Puts a trial's new status into the table, and prints it.

        Raises:
            SupersededError: a process on another host has taken the folder over and now writes the table.
        """
        self.lease.check()
        row = self.table.update(trial, status)
        details = ""
        if status == TrialStatus.DONE:
            details = f": {_score(row)}"
        elif status == TrialStatus.FAILED:
            details = f": {_last_line(trial.log)} ({trial.log})"
        elif status == TrialStatus.LOCKED:
            details = f": {_last_line(trial.log)} It starts when that process has ended."
        say(f"{status} {trial.name} seed {trial.seed}{details}")

    def status(self, is_well: bool) -> int:
        """Returns the exit status: 0 or 1, or a signal's, in which case it prints the command that resumes."""
        if self.stop():
            say(f"resume with: {shlex.join(resuming(command_line()))}")
            return self.stop.status
        return ExitStatus.DONE if is_well else ExitStatus.FAILED


def _score(row: Mapping[str, str]) -> str:
    if row["episodes"] == "0":
        return "no episode ended"
    return f"{int(row['steps']):,} steps, mean return {row['mean_return']} of the last {LAST_EPISODES}"


def _last_line(log: Path) -> str:
    lines = []
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"
