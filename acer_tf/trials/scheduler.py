"""Runs trials in their own processes, several side by side; one that fails does not affect the others."""

import enum
import errno
import signal
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from acer_tf.errors import ExitStatus, was_stopped
from acer_tf.storage.lock import is_locked
from acer_tf.system.children import note, start_module
from acer_tf.system.console import say

POLL_SECONDS = 0.2
LOCKED_SECONDS = 2.0
"""Seconds before the next check of a trial's folder that another process uses."""
MOST_LOCKED_SECONDS = 60.0
WITHOUT_ROOM_SECONDS = 10.0
"""Seconds before the next start after a failure for lack of room, memory or processes, or in a network outage."""
PASSING = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "EIO", "ESTALE")
    if hasattr(errno, name)
}
"""Errors that pass by themselves or when somebody makes room."""


class TrialStatus(enum.StrEnum):
    """Status of a trial, as shown in sweep.csv and the terminal."""

    RUNNING = enum.auto()
    DONE = enum.auto()
    STOPPED = enum.auto()
    """It has saved and ended after a signal; it continues when the sweep does."""
    FAILED = enum.auto()
    LOCKED = enum.auto()
    """Another process uses its folder; it starts later."""
    PRUNED = enum.auto()
    """Stopped for good, as it is not promising in a search."""


def seed_folder(name: str, seed: int) -> Path:
    """Returns NAME/seed-N, the folder of a run below that of a sweep, a search or a variation."""
    return Path(name.replace("/", "-").replace(":", "-"), f"seed-{seed}")


class Trial(NamedTuple):
    """One training run of a sweep, named after its environment or preset."""

    name: str
    seed: int
    folder: Path
    command: tuple[str, ...]
    """The words after `python -m`."""

    @property
    def log(self) -> Path:
        """File for the run's output, beside its folder."""
        return self.folder.with_name(f"{self.folder.name}.log")


class Process(Protocol):
    """A started trial, such as a `subprocess.Popen`."""

    def poll(self) -> int | None:
        """Returns the return code, as in `subprocess`, or None until it has ended."""

    def terminate(self) -> None:
        """Makes it save and end; when called again, end at once."""

    def wait(self) -> int:
        """Waits for its end and returns the return code."""


class Engine(Protocol):
    """Runs trials, on this machine or elsewhere."""

    def slots(self) -> int:
        """Returns how many trials may run side by side now."""

    def start(self, trial: Trial) -> Process:
        """Starts a trial, whose log's folder exists."""


class LocalEngine:
    """Runs trials as children of this process."""

    def __init__(self, workers: int) -> None:
        """Prepares to run this number of trials side by side."""
        self._workers = workers

    def slots(self) -> int:
        """Returns the number of workers."""
        return self._workers

    def start(self, trial: Trial) -> Process:
        """Starts a trial."""
        return start_module(trial.command, trial.log)


class LockedTrials:
    """Trials whose folders other processes use; each waits twice as long after every failed attempt."""

    def __init__(self) -> None:
        self._seconds: dict[Trial, float] = {}
        self._due: dict[Trial, float] = {}

    def __len__(self) -> int:
        return len(self._due)

    def add(self, trial: Trial) -> None:
        """Adds a trial."""
        self._seconds[trial] = min(2 * self._seconds.get(trial, LOCKED_SECONDS / 2), MOST_LOCKED_SECONDS)
        self._due[trial] = time.monotonic() + self._seconds[trial]

    def remove(self, trials: Iterable[Trial]) -> None:
        """Removes trials, if present."""
        for trial in trials:
            self._due.pop(trial, None)

    def take(self) -> Trial | None:
        """Returns a trial that is due, unless a process of this host still uses its folder."""
        now = time.monotonic()
        for trial, due in self._due.items():
            if due > now:
                continue
            if not is_locked(trial.folder):
                del self._due[trial]
                return trial
            self._due[trial] = now + LOCKED_SECONDS
        return None


class TrialQueue:
    """Trials to start, in order; those whose folders other processes use come last.

    If such a process completes the run, the trial finds it done.
    """

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self._waiting = deque(trials)
        self._locked = LockedTrials()

    def take(self) -> Trial | None:
        """Returns the next trial that can start now, if any."""
        return self._waiting.popleft() if self._waiting else self._locked.take()

    def put_back(self, trial: Trial) -> None:
        """Takes back a trial whose folder another process uses."""
        self._locked.add(trial)

    def put_first(self, trial: Trial) -> None:
        """Takes back a trial that could not start for lack of room, before all others."""
        self._waiting.appendleft(trial)

    def is_exhausted(self) -> bool:
        """Returns whether no trials will follow the running ones."""
        return not self._waiting and not self._locked

    def superfluous(self) -> Collection[Trial]:
        """Returns running trials that should save and end early."""
        return ()


def run_trials(
    queue: TrialQueue,
    engine: Engine,
    stop: Callable[[], bool],
    report: Callable[[Trial, TrialStatus], None],
) -> None:
    """Runs all trials; when `stop` returns True, running ones save and end, and no others start.

    It calls `report` with each trial and its status when it starts (`running`) and ends (`done`, `stopped`, `failed`,
    `locked`).
    """
    running: dict[Trial, Process] = {}
    ending: set[Trial] = set()
    starts_at = 0.0
    try:
        while running or not (queue.is_exhausted() or stop()):
            # The number of slots may change, as nodes of a cluster come and go.
            while (
                time.monotonic() >= starts_at
                and len(running) < engine.slots()
                and not stop()
                and (trial := queue.take())
            ):
                process, status = _start(trial, engine)
                if process is not None:
                    running[trial] = process
                if status is None:
                    queue.put_first(trial)
                    starts_at = time.monotonic() + WITHOUT_ROOM_SECONDS
                else:
                    report(trial, status)
            for trial in running.keys() & set(running if stop() else queue.superfluous()) - ending:
                running[trial].terminate()
                ending.add(trial)  # once: a second signal would keep it from saving
            for trial in [trial for trial, process in running.items() if process.poll() is not None]:
                ending.discard(trial)
                status = _status(trial, running.pop(trial).wait())
                if status == TrialStatus.LOCKED:  # a process of a killed sweep may still be saving
                    queue.put_back(trial)
                report(trial, status)
            time.sleep(POLL_SECONDS)
    finally:  # a second signal ends this at once; the trials also get a second one
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()


def _start(trial: Trial, engine: Engine) -> tuple[Process | None, TrialStatus | None]:
    """Starts a trial; returns its process and status, or None for both if it may start later."""
    try:
        trial.log.parent.mkdir(parents=True, exist_ok=True)
        return engine.start(trial), TrialStatus.RUNNING
    except OSError as error:
        is_passing = error.errno in PASSING  # a full disk, for instance, has no room for the log
        way_out = "; it will be tried again" * is_passing
        say(f"{trial.name} seed {trial.seed} cannot start ({error}){way_out}", is_error=True)
        return None, None if is_passing else TrialStatus.FAILED


def _status(trial: Trial, returncode: int) -> TrialStatus:
    if returncode == 0:
        return TrialStatus.DONE
    if was_stopped(returncode):
        return TrialStatus.STOPPED
    if returncode in (ExitStatus.LOCKED, ExitStatus.SUPERSEDED):  # before it began, or later
        return TrialStatus.LOCKED
    if returncode < 0:  # a signal that the trial could not report itself
        note(trial.log, f"ended by {signal.Signals(-returncode).name}")
    return TrialStatus.FAILED
