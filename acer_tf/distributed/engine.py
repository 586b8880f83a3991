"""Runs trials on a Ray cluster, whatever happens to workers and nodes meanwhile."""

import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from acer_tf.distributed.supervisor import (
    HEARTBEAT_SECONDS,
    POLL_SECONDS,
    Ended,
    Program,
    is_running,
    new_heartbeat,
    supervise,
)
from acer_tf.errors import InputError, was_stopped
from acer_tf.storage.checkpoint import checkpoint_folders
from acer_tf.storage.run_files import CHECKPOINTS
from acer_tf.system.children import note
from acer_tf.system.console import say

STOPPED_SECONDS = 120.0
"""Seconds without a heartbeat, which a network file system may delay by a minute, until a supervisor is given up."""
RETRY_SECONDS = 60.0
"""Seconds between two attempts to restart a program while the disk is full."""
FUTILE_STARTS = 3
"""Starts without progress after which a killed program counts as failed."""


class Trial(Protocol):
    """A training run to start, such as a trial of `acer_tf.trials`."""

    @property
    def command(self) -> Sequence[str]:
        """The words after `python -m`."""

    @property
    def folder(self) -> Path:
        """The run folder, on storage that the nodes share."""

    @property
    def log(self) -> Path:
        """File for its output."""


class RayEngine:
    """Runs trials on the nodes of a cluster, which share the trials' folders."""

    def __init__(self, ray: ModuleType, slots: int | None, cpus: int) -> None:
        """Prepares to run trials.

        Args:
            ray: the module, connected.
            slots: trials that run side by side over all nodes; None takes as many as the cluster has processors for.
            cpus: processors of each trial.

        Raises:
            InputError: no node has this many processors.
        """
        # A task that fits on no node would stay pending forever.
        most = max((int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]), default=0)
        if most < cpus:
            raise InputError(f"trial_cpus is {cpus}, but the largest node of the cluster has {most}.")
        self._ray, self._slots, self._cpus = ray, slots, cpus

    def slots(self) -> int:
        """Returns the given number, or the number of trials for which live nodes now have room."""
        return self._slots or int(self._ray.cluster_resources().get("CPU", 0)) // self._cpus

    def start(self, trial: Trial) -> "RemoteProgram":
        """Starts a trial on the first node with room for it."""
        return RemoteProgram(self._ray, trial, self._cpus)


class RemoteProgram:
    """The program of a trial under a Ray task, with the methods of `subprocess.Popen`.

    Ray restarts the task, without limit, when its worker or node ends. This class restarts it when its worker is
    stopped, or when the program itself is killed, for instance for lack of memory, as long as it reaches a new
    checkpoint each time. Any other exit status is final.
    """

    def __init__(self, ray: ModuleType, trial: Trial, cpus: int) -> None:
        """Starts the program in this process's working directory, on the first node with `cpus` free processors."""
        self._ray, self._trial, self._cpus = ray, trial, cpus
        self._log = trial.log.absolute()
        self._heartbeat = self._log.with_suffix(".heartbeat")
        self._returncode: int | None = None
        self._is_stopping = False
        self._again_at: float | None = None  # if it could not be restarted yet
        self._futile_starts, self._reached = 0, self._newest_checkpoint()
        self._submit()

    def poll(self) -> int | None:
        """Returns the return code, or None while the program runs or waits for room."""
        # Never blocks: the scheduler looks after many trials.
        if self._returncode is not None:
            return self._returncode
        if self._again_at is not None:
            if time.monotonic() >= self._again_at:
                self._submit_again()
        elif self._ray.wait([self._task], timeout=0)[0]:
            self._end(self._outcome())
        else:
            self._watch()
        return self._returncode

    def terminate(self) -> None:
        """Sends SIGTERM to the program, or withdraws it if it waits for room."""
        self._is_stopping = True
        if self._again_at is None:
            self._ray.cancel(self._task)
        else:
            self._finish(-signal.SIGTERM)

    def wait(self) -> int:
        """Waits for the end of the program and returns its return code."""
        while (returncode := self.poll()) is None:
            time.sleep(POLL_SECONDS)
        return returncode

    def _submit(self) -> None:
        ticket = new_heartbeat(self._heartbeat)
        program = Program(tuple(self._trial.command), Path.cwd(), self._log, self._heartbeat, ticket)
        # Ray retries only after the loss of a worker or node; the program's own failure is an exit status.
        options = {"num_cpus": self._cpus, "max_retries": -1, "scheduling_strategy": "SPREAD"}
        self._task: Any = self._ray.remote(supervise).options(**options).remote(program)
        self._is_lost = False
        self._last_heartbeat, self._next_look = (0, time.monotonic()), 0.0

    def _submit_again(self) -> None:
        try:
            self._submit()
            self._again_at = None
        except OSError as error:  # a disk may be full only for a moment
            say(f"{self._log}: cannot start again ({error.strerror}); it will be tried again", is_error=True)
            self._again_at = time.monotonic() + RETRY_SECONDS

    def _watch(self) -> None:
        """Withdraws the task from a stopped worker, as Ray only notices workers that have ended."""
        now = time.monotonic()
        if now < self._next_look or self._is_lost:
            return
        self._next_look = now + HEARTBEAT_SECONDS
        # The file is on shared storage, whose clock may differ, so only changes count.
        try:
            heartbeat = self._heartbeat.stat().st_mtime_ns
        except OSError:  # not written yet, or a storage outage, which may pass
            heartbeat = 0
        if heartbeat != self._last_heartbeat[0] or not is_running(self._heartbeat):
            self._last_heartbeat = heartbeat, now
        elif now - self._last_heartbeat[1] > STOPPED_SECONDS:
            say(
                f"{self._log}: no sign of life from the worker for {STOPPED_SECONDS:g} s; starting again", is_error=True
            )
            self._is_lost = True
            self._ray.cancel(self._task, force=True)  # a stopped process ignores interrupts; its program gets SIGHUP

    def _outcome(self) -> Ended | None:
        """Returns how the program ended; None if the task was withdrawn."""
        try:
            ended: Ended = self._ray.get(self._task)
            return ended
        except self._ray.exceptions.TaskCancelledError:
            return None
        except self._ray.exceptions.RayError as error:
            return Ended(None, "", str(error))

    def _end(self, ended: Ended | None) -> None:
        # Stopped on request, whether it ran or waited for room.
        if self._is_stopping and (ended is None or ended.returncode is None):
            self._finish(-signal.SIGTERM)
        # Withdrawn from a stopped worker: it starts again on another.
        elif ended is None:
            self._submit_again()
        elif ended.returncode is None:
            note(self._log, f"error: {ended.reason}")
            self._finish(1)
        # Killed by its watchdog or for lack of memory, neither of which is the fault of its settings.
        elif ended.returncode < 0 and not (was_stopped(ended.returncode) or self._is_stopping) and self._goes_on():
            note(self._log, f"ended with status {ended.returncode} on {ended.host}; started again")
            self._submit_again()
        else:
            self._finish(ended.returncode)

    def _finish(self, returncode: int) -> None:
        self._returncode = returncode
        with contextlib.suppress(OSError):
            self._heartbeat.unlink(missing_ok=True)

    def _goes_on(self) -> bool:
        # Without progress, this would go on forever.
        reached = self._newest_checkpoint()
        self._futile_starts = 0 if reached != self._reached else self._futile_starts + 1
        self._reached = reached
        return self._futile_starts < FUTILE_STARTS

    def _newest_checkpoint(self) -> str:
        try:
            return next((path.name for path in checkpoint_folders(self._trial.folder / CHECKPOINTS)), "")
        except OSError:  # a network outage: it is still where it was
            return self._reached
