"""Runs trainings in processes of their own, several side by side; a failing one does not affect the others."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from acer_tf.commands.signals import SIGNALS
from acer_tf.commands.statuses import Status
from acer_tf.storage.lock import is_locked
from acer_tf.system.parent import end_with_parent

POLL_SECONDS = 0.2
LOCKED_SECONDS = 2.0
"""Between two looks at the folder of a trial in which another process works."""
DONE, RUNNING, STOPPED, FAILED, LOCKED = "done", "running", "stopped", "failed", "locked"

STOPPED_STATUSES = {status for number in SIGNALS for status in (128 + number, -number)}
"""Exit statuses after a stop signal; negative if it came before the run had installed its handlers."""


class Trial(NamedTuple):
    """One training run of a sweep.

    Attributes:
        name: name of the environment or preset.
        seed: seed of the run.
        folder: its run folder.
        command: the words after `python -m`.
    """

    name: str
    seed: int
    folder: Path
    command: tuple[str, ...]

    @property
    def log(self) -> Path:
        """File for what the run prints, beside its folder."""
        return self.folder.with_name(f"{self.folder.name}.log")


def run_trials(
    trials: Sequence[Trial], workers: int, stop: Callable[[], bool], report: Callable[[Trial, str], None]
) -> None:
    """Runs all trials; when a stop is requested, the running ones save and end, and no other starts.

    A trial in whose folder another process works starts again after all others, once the folder is free. If that
    process has done the work, the trial finds it done.

    Args:
        trials: the trials, in the order in which they start.
        workers: maximum number of trials that run side by side.
        stop: returns whether a stop was requested.
        report: called with each trial and its status when it starts (`running`) and ends (`done`, `stopped`, `failed`,
            `locked`).
    """
    queue = _Queue(trials)
    running: dict[Trial, subprocess.Popen[bytes]] = {}
    is_stopping = False
    try:
        while running or (queue and not stop()):
            while len(running) < workers and not stop() and (trial := queue.take()):
                running[trial] = _start(trial)
                report(trial, RUNNING)
            if stop() and not is_stopping:
                _terminate(running.values())
                is_stopping = True
            for trial in [trial for trial, process in running.items() if process.poll() is not None]:
                status = _status(trial, running.pop(trial).returncode)
                if status == LOCKED:
                    queue.put_back(trial)
                report(trial, status)
            time.sleep(POLL_SECONDS)
    finally:  # after a second signal, which ends this at once, the trials get a second one, too
        _terminate(running.values())
        for process in running.values():
            process.wait()


class _Queue:
    """Trials to start; those in whose folders other processes work come last."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._waiting = deque(trials)
        self._locked: list[Trial] = []
        self._next_look = 0.0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._locked)

    def take(self) -> Trial | None:
        """Returns the next trial that can start now, if there is one."""
        if self._waiting:
            return self._waiting.popleft()
        if time.monotonic() < self._next_look:
            return None
        self._next_look = time.monotonic() + LOCKED_SECONDS
        trial = next((trial for trial in self._locked if not is_locked(trial.folder)), None)
        if trial is not None:
            self._locked.remove(trial)
        return trial

    def put_back(self, trial: Trial) -> None:
        """Adds a trial in whose folder another process works."""
        self._locked.append(trial)
        self._next_look = time.monotonic() + LOCKED_SECONDS


def _start(trial: Trial) -> subprocess.Popen[bytes]:
    trial.folder.parent.mkdir(parents=True, exist_ok=True)
    with trial.log.open("ab") as log:
        # A new session: Ctrl-C in the terminal reaches the sweep alone, which passes it on once.
        return subprocess.Popen(
            [sys.executable, "-m", *trial.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # If the sweep is killed, its trials save and end: a second SIGHUP, unlike SIGTERM, would not stop that.
            preexec_fn=functools.partial(end_with_parent, os.getpid(), signal.SIGHUP),
        )


def _terminate(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()


def _status(trial: Trial, returncode: int) -> str:
    if returncode == 0:
        return DONE
    if returncode in STOPPED_STATUSES:
        return STOPPED
    if returncode == Status.LOCKED:
        return LOCKED
    if returncode < 0:  # a signal that it could not report itself
        with contextlib.suppress(OSError), trial.log.open("a", encoding="utf-8") as log:
            log.write(f"\nended by {signal.Signals(-returncode).name}\n")
    return FAILED
