"""Training runs as processes of their own, some side by side: one that fails leaves the others alone."""

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from acer_tf.system.threads import environment_of_trials

POLL_SECONDS = 0.2
DONE, RUNNING, STOPPED, FAILED = "done", "running", "stopped", "failed"

STOPPED_STATUSES = {status for number in (signal.SIGINT, signal.SIGTERM) for status in (128 + number, -number)}
"""Exit statuses of a run that was told to stop; negative before it has begun to listen."""


class Trial(NamedTuple):
    """One training run of a sweep.

    Attributes:
        name: of its environment or preset.
        seed: its seed.
        folder: its run folder; what it prints goes into a file beside it.
        command: the words after `python -m`.
    """

    name: str
    seed: int
    folder: Path
    command: tuple[str, ...]

    @property
    def log(self) -> Path:
        """The file that holds what the run printed."""
        return self.folder.with_name(f"{self.folder.name}.log")


def run_trials(
    trials: Sequence[Trial], workers: int, stop: Callable[[], bool], report: Callable[[Trial, str], None]
) -> None:
    """Runs trials to their ends, or until told to stop; then those under way save and end, and no other starts.

    Args:
        trials: in the order in which they start.
        workers: how many run side by side.
        stop: says whether to stop.
        report: is told of each start (`running`) and end (`done`, `stopped` or `failed`).
    """
    waiting = deque(trials)
    running: dict[Trial, subprocess.Popen[bytes]] = {}
    is_told = False
    try:
        while running or (waiting and not stop()):
            while waiting and len(running) < workers and not stop():
                trial = waiting.popleft()
                running[trial] = _start(trial)
                report(trial, RUNNING)
            if stop() and not is_told:
                _terminate(running.values())
                is_told = True
            for trial, process in [*running.items()]:
                if process.poll() is not None:
                    del running[trial]
                    report(trial, _status(trial, process.returncode))
            time.sleep(POLL_SECONDS)
    finally:  # where a second signal ends this at once, it is the second one for the trials, too
        _terminate(running.values())
        for process in running.values():
            process.wait()


def _start(trial: Trial) -> subprocess.Popen[bytes]:
    trial.folder.parent.mkdir(parents=True, exist_ok=True)
    with trial.log.open("ab") as log:
        # A session of its own: Ctrl-C in the terminal is for the sweep, which passes it on once.
        return subprocess.Popen(
            [sys.executable, "-m", *trial.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment_of_trials(),
        )


def _terminate(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()


def _status(trial: Trial, returncode: int) -> str:
    if returncode == 0:
        return DONE
    if returncode in STOPPED_STATUSES:
        return STOPPED
    if returncode < 0:  # it could not say so itself
        with trial.log.open("a", encoding="utf-8") as log:
            log.write(f"\nended by {signal.Signals(-returncode).name}\n")
    return FAILED
