"""One run or sweep, disturbed again and again until it is complete, and the conditions that must hold throughout."""

import csv
import itertools
import os
import random
import shutil
import time
from collections import Counter
from pathlib import Path

from acer_tf.errors import ExitStatus
from acer_tf.storage.checkpoint import checkpoint_folders, step_of
from acer_tf.storage.run_files import ARRAYS, CHECKPOINTS, EPISODES, MANIFEST, MODEL, PROGRESS, VALUES
from acer_tf.trials.execution import TABLE
from benchmarks.faults.faults import (
    DAMAGES,
    EIO,
    MOVED,
    RUNNING,
    STREAMS,
    Around,
    Clock,
    add_strays,
    open_streams,
    victims,
)
from benchmarks.faults.interposed import Disk, unsynced
from benchmarks.faults.process import StuckError, Training, survivors, unmapped
from benchmarks.faults.scratch import Scratch
from benchmarks.faults.tasks import TASKS, command

MOMENTS = ("starting", "resuming", "training", "saving")
STARTING_SECONDS = 6.0
"""Approximate seconds of the start, in which a fault of that moment occurs."""
HALF_WRITTEN = 2
"""Descriptors that a checkpoint keeps open while it is being written."""
GONE_SECONDS = 10.0
"""Seconds within which the processes of an ended run must disappear."""
SAVED_SECONDS = 60.0
"""The same for a sweep, whose trials save when it is killed."""


class ViolationError(Exception):
    """A promise did not hold."""


class Story:
    """The life of a task.

    Attributes:
        folder: its folder, alone in its parent except for what the task itself puts there.
        log: events so far, one line each.
        faults: number of faults so far, by kind and moment.
    """

    def __init__(
        self,
        task: str,
        scratch: Scratch,
        outputs: Path,
        draw: random.Random,
        reference: Path | None,
        breakage: str = "",
    ) -> None:
        """Starts nothing yet.

        Args:
            task: name of the task.
            scratch: file system for the run folder.
            outputs: folder for the output of the processes, on another file system.
            draw: random stream of all choices.
            reference: folder of the same task, undisturbed; None if this is that task.
            breakage: Python code that breaks the package in every process.
        """
        self.folder = scratch.folder / "runs" / "run"
        self.log: list[str] = []
        self.faults: Counter[tuple[str, str]] = Counter()
        self._name, self._scratch, self._outputs, self._draw, self._reference = task, scratch, outputs, draw, reference
        self._task = TASKS[task]
        self._around = Around(scratch, Clock(outputs, breakage), Disk(outputs), draw)
        self._damaged: set[Path] = set()
        self._is_exact = reference is not None and self._task.is_exact
        self._is_complete = False
        self._shared_memory = unmapped()

    def run(self, disturbances: int) -> None:
        """Runs through this many faults, and then to the end.

        Raises:
            ViolationError: a promise did not hold.
        """
        for _ in range(disturbances):
            if not self._is_complete:
                self._disturb()
        while not self._is_complete:
            self._live("undisturbed")
        self._check_results()

    def _disturb(self) -> None:
        """Makes one fault of any kind."""
        kind = self._draw.choice(["running"] * 5 + ["file"] * 2 + ["stream", "strays"])
        run = self._draw.choice(self._runs())
        if kind == "file" and len(self._intact(run)) > 1:
            self._damage(run, self._draw.choice([*DAMAGES, *([EIO] if self._around.disk.environment else [])]))
        elif kind == "stream":
            self._live(self._draw.choice(STREAMS))
        elif kind == "strays" and self._intact(run):
            self._note("stray files", "stray files", "between")
            add_strays(run)
        else:
            self._live(self._draw.choice([name for name in RUNNING if name != "disk full" or self._scratch.is_small]))

    def _damage(self, run: Path, name: str) -> None:
        file = self._draw.choice(victims(run))
        self._note(f"{name} in {file.relative_to(self.folder)}", name, "between")
        if name == EIO:
            self._around.disk.make_unreadable(file)
        else:
            DAMAGES[name](file, self._draw)
        if file.parent.name == "replay":
            self._is_exact = False  # the run continues without this part of replay
        else:
            self._damaged.add(file.parent)

    def _note(self, text: str, fault: str, moment: str) -> None:
        self.log.append(text)
        self.faults[fault, moment] += 1

    def _runs(self) -> list[Path]:
        return [self.folder / run for run in self._task.runs]

    def _published(self) -> list[Path]:
        """Returns the published checkpoints of all its runs, except at step 0, when no log is open yet."""
        folders = (path for run in self._runs() for path in checkpoint_folders(run / CHECKPOINTS))
        return [path for path in folders if step_of(path) > 0]

    def _intact(self, run: Path) -> list[Path]:
        return [path for path in checkpoint_folders(run / CHECKPOINTS) if path not in self._damaged]

    def _live(self, fault: str) -> None:
        """Starts the command, disturbs it, and checks what it leaves behind."""
        intact = self._intact(self.folder)  # none of a sweep, whose runs tell their logs where they resumed
        output = self._outputs / f"{len(self.log):03d}"
        streams = open_streams(fault) if fault in STREAMS else (None, None)
        environment = {**self._around.clock.environment, **self._around.disk.environment, "WANDB_MODE": "offline"}
        self._around.disk.forget()
        training = Training(command(self._name, self.folder), self.folder, output, environment, streams)
        try:
            for stream in {*streams} - {None}:
                os.close(stream)
            allowed = self._act(fault, training)
            status = training.end()
        except StuckError as error:
            raise ViolationError(f"{fault}: {error}") from error
        finally:
            training.destroy()
        self.log[-1] += f": status {status}, newest checkpoint {max(map(step_of, self._published()), default=None)}"
        self._is_complete = status == 0
        self._check_status(status, allowed, training)
        self._check_order()
        self._check_resumed(training, intact)
        self._check_leftovers()
        self._check_logs()
        self._forget_set_aside()

    def _forget_set_aside(self) -> None:
        """Deletes the damaged checkpoints that the run has set aside; their steps may be published again."""
        for run in self._runs():
            for path in (run / CHECKPOINTS).glob("damaged-*"):
                self._damaged.discard(path.with_name(path.name.removeprefix("damaged-")))
                shutil.rmtree(path)

    def _act(self, fault: str, training: Training) -> frozenset[int]:
        """Causes the fault; returns the exit statuses that it allows besides 0."""
        if fault not in RUNNING:
            self.log.append(fault)
            self.faults[fault, "whole life"] += fault in STREAMS
            return frozenset()
        act, allowed = RUNNING[fault]
        moment = self._draw.choice(MOMENTS)
        self._note(f"{fault} while {moment}", fault, moment)
        self._wait_for(moment, training)
        act(training, self._around)
        if fault == MOVED:
            self._is_exact = False  # its logs and checkpoints begin anew
            shutil.rmtree(self.folder.with_name("moved"), ignore_errors=True)
        return allowed | {ExitStatus.FAILED} if self._task.is_sweep else allowed

    def _wait_for(self, moment: str, training: Training) -> None:
        if moment == "starting":
            training.wait_until(lambda: False, self._draw.uniform(0, STARTING_SECONDS))
            return
        before = self._published()
        training.wait_until(training.has_begun)
        if moment == "resuming":
            training.wait_until(lambda: False, self._draw.uniform(0, 1))
        elif moment == "saving":
            training.wait_until(lambda: {*self._published()} - {*before})
            training.wait_until(self._around.disk.is_saving)
            time.sleep(self._draw.uniform(0, 0.02))
        else:
            training.wait_until(lambda: {*self._published()} - {*before})
            opened = training.descriptors()
            training.wait_until(lambda: False, self._draw.uniform(0, 3))
            if training.descriptors() > opened + HALF_WRITTEN:
                raise ViolationError(f"{training.descriptors()} open descriptors, {opened} some steps before")

    def _check_status(self, status: int, allowed: frozenset[int], training: Training) -> None:
        said = training.said()
        if "Traceback" in said:
            raise ViolationError(f"a traceback:\n{said}")
        if status != 0 and status not in allowed:
            raise ViolationError(f"status {status}, expected 0 or {sorted(allowed)}:\n{said}")

    def _check_order(self) -> None:
        """Checks that the files of a checkpoint were on the disk before it got its name."""
        if missing := unsynced(self._around.disk.calls(), (ARRAYS, VALUES, MANIFEST)):
            raise ViolationError(f"published before it was on the disk: {missing[0]}")

    def _check_resumed(self, training: Training, intact: list[Path]) -> None:
        """Checks that it resumed at the newest checkpoint with intact files."""
        step = training.resumed_at()
        if step is None or not intact:
            return
        if not intact[0].name.endswith(f"-{step:012d}"):
            raise ViolationError(
                f"resumed at step {step}, published and intact was {intact[0].name}:\n{training.said()}"
            )

    def _check_leftovers(self) -> None:
        end = time.monotonic() + (SAVED_SECONDS if self._task.is_sweep else GONE_SECONDS)
        while (left := survivors()) and time.monotonic() < end:
            time.sleep(0.1)
        if left:
            raise ViolationError(f"processes left behind: {[process.cmdline() for process in left]}")
        while (shared := unmapped() - self._shared_memory) and time.monotonic() < end:
            time.sleep(0.1)
        if shared:
            raise ViolationError(f"shared memory left behind: {sorted(shared)}")

    def _check_logs(self) -> None:
        """Checks that steps increase in both logs of each run and that no row is repeated or missing."""
        for run in self._runs():
            steps = [int(float(row["total_timesteps"])) for row in csv.DictReader(_lines(run / PROGRESS))]
            if any(first >= second for first, second in itertools.pairwise(steps)):
                raise ViolationError(f"{PROGRESS} has the steps {steps}")
            rows = _lines(run / EPISODES)
            ends = [int(float(row["steps"])) for row in csv.DictReader(rows)]
            if ends != sorted(ends):
                raise ViolationError(f"{EPISODES} has the steps {ends}")
            if self._is_exact and rows != _lines(self._undisturbed(run) / EPISODES)[: len(rows)]:
                raise ViolationError(f"{EPISODES} differs from that of the undisturbed run: {rows[-5:]}")

    def _undisturbed(self, run: Path) -> Path:
        assert self._reference is not None
        return self._reference / run.relative_to(self.folder)

    def _check_results(self) -> None:
        """Checks that each complete run equals the undisturbed one bit for bit, if that is promised."""
        for run in self._runs():
            if not checkpoint_folders(run / CHECKPOINTS) or not (run / MODEL).exists():
                raise ViolationError("the complete run has no checkpoint or no agent")
            for name in (MODEL, EPISODES):
                if self._is_exact and (run / name).read_bytes() != (self._undisturbed(run) / name).read_bytes():
                    raise ViolationError(f"{name} differs from that of the undisturbed run")
        statuses = [row["status"] for row in csv.DictReader(_lines(self.folder / TABLE))]
        if self._task.is_sweep and statuses != ["done"] * len(self._task.runs):
            raise ViolationError(f"the complete sweep has the statuses {statuses}")


def _lines(file: Path) -> list[str]:
    """Returns the complete lines of a log, as a kill may have cut the last one."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
