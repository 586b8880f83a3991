"""Saves the complete state of a run while it trains, and resumes from it."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import Checkpoint
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.input_errors import as_input_error
from acer_tf.storage.run_folder import note_lost_replay
from acer_tf.system.console import counted, say
from acer_tf.system.streams import derived_seed
from acer_tf.training.resume import describe, differences

if TYPE_CHECKING:
    from acer_tf.acer import TrainingLoop

SECONDS = 600.0
"""Seconds between two checkpoints if no number of agent steps is given."""
RETRY_SECONDS = 60.0
"""Seconds before a failed write is retried."""


class Part(Protocol):
    """A part of a run besides its training loop."""

    def state_dict(self) -> Mapping[str, Any]:
        """Returns arrays and plain values by name."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        ...


class Checkpointer:
    """Decides when to save a checkpoint; a failed one does not end training but is retried.

    Environments cannot be saved. With `is_exact`, they are therefore seeded anew from (seed, step) at every checkpoint,
    whether or not the run is ever interrupted, so that a resumed run equals an uninterrupted one bit for bit. Otherwise
    they are left alone, and a resumed run begins new episodes.
    """

    def __init__(
        self,
        acer: "TrainingLoop",
        checkpoints: CheckpointStore,
        *,
        seed: int,
        every: int | None,
        is_exact: bool,
        settings: Mapping[str, Any],
        origin: Mapping[str, Any],
        parts: Mapping[str, Part] = MappingProxyType({}),
        heartbeat: Callable[[], object] = lambda: None,
    ) -> None:
        """Saves nothing before `begin` is called.

        Args:
            acer: the training loop of a run that has not begun.
            checkpoints: the run's checkpoints.
            seed: seed of the run.
            every: agent steps between two checkpoints; None saves one every 10 minutes.
            is_exact: whether to seed the environments anew at each checkpoint.
            settings: settings of the run, saved in each checkpoint.
            origin: software and hardware, saved in each checkpoint.
            parts: the other parts of the run by name; a part that a checkpoint lacks stays unchanged.
            heartbeat: called after each step that brings environments back to where they were.
        """
        self._acer = acer
        self._checkpoints = checkpoints
        self._seed = seed
        self._every = every
        self._is_exact = is_exact
        self._settings = settings
        self._origin = origin
        self._parts = parts
        self._heartbeat = heartbeat
        self._saved_at = time.monotonic()
        self._retry_at: float | None = None

    def begin(self) -> None:
        """Resumes from the newest intact checkpoint or, if there are no checkpoints, saves the first.

        Raises:
            OtherFormatError: another version of this package wrote a checkpoint.
            InputError: there are checkpoints, but none is intact, and nothing has been changed; or the first one cannot
                be written.
        """
        self._checkpoints.tidy()  # removes what a killed process left unfinished
        problems = []
        for found in self._checkpoints.verified():  # the newest first; damaged ones are errors
            if isinstance(found, Checkpoint):
                self._resume(found)
                return
            say(f"checkpoint skipped: {found}", is_error=True)
            problems.append(found)
        if problems:  # beginning anew would bury the remains of the run
            raise InputError(
                f"none of the {len(problems)} checkpoints in {self._checkpoints.folder} is whole: {problems[0]} "
                "--restart_behavior restart begins anew and keeps the folder under another name."
            )
        if self._is_exact:
            self._restart_environments()
        try:  # before anything is learned, so that a full disk costs nothing
            self.write()
        except OSError as error:
            raise InputError(
                f"the first checkpoint cannot be written to {self._checkpoints.folder} ({error.strerror or error}); "
                "make room, or choose another folder."
            ) from error

    def after_iteration(self) -> None:
        """Saves a checkpoint if one is due."""
        now = time.monotonic()
        is_due = self._is_due(now)
        if is_due and self._is_exact:
            self._restart_environments()  # even if saving fails: learning must not depend on the disk
        is_due = is_due or self._checkpoints.is_gone
        if is_due if self._retry_at is None else now >= self._retry_at:  # not at each iteration while the disk is full
            self.save()

    def save(self) -> bool:
        """Saves a checkpoint now; returns whether that worked. A failure is printed, and retried in a minute."""
        try:
            self.write()
        except OSError as error:
            say(f"checkpoint at step {self._acer.steps:,} failed ({error}); training goes on.", is_error=True)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return False
        return True

    def write(self) -> None:
        """Saves a checkpoint now.

        Raises:
            OSError: the disk is full or cannot be written; earlier checkpoints are unchanged.
        """
        acer = self._acer
        # If no evaluation has chosen the best agent, the mean return in training does.
        score = acer.episode_stats.mean_reward() if acer.episode_stats.has_ended else None
        state = acer.state_dict() | {name: part.state_dict() for name, part in self._parts.items()}
        self._checkpoints.save(acer.steps, state, acer.buffer, score, self._settings, self._origin)
        self._retry_at, self._saved_at = None, time.monotonic()

    def _is_due(self, now: float) -> bool:
        if self._every is None:
            return now - self._saved_at >= SECONDS
        return self._acer.steps // self._every > (self._acer.steps - self._acer.nbatch) // self._every

    def _resume(self, checkpoint: Checkpoint) -> None:
        state, lost = self._checkpoints.restore(checkpoint, self._acer.buffer)  # replay goes straight into the buffer
        with as_input_error(checkpoint.path, "the state of this run"):
            if state["loop"]["steps"] != checkpoint.step:
                raise ValueError(f"its step is {state['loop']['steps']}")  # a forged or renamed checkpoint
            for name in self._parts.keys() & state.keys():  # an earlier version may lack some parts
                self._parts[name].load_state_dict(state[name])  # first: the agent compares its spaces
            is_restored = self._acer.load_state_dict(state, self._heartbeat)
            differing = differences(_flat(checkpoint.origin), _flat(self._origin))
        if not is_restored:  # episodes cannot be saved, so they begin anew
            self._restart_environments()
        kept = f"{self._acer.buffer.num_in_buffer:,} segments of replay"
        if lost:
            self._tell_lost_replay(lost)
        say(f"resumed at step {self._acer.steps:,} from {checkpoint.path} (with {kept})")
        if differing:
            say(f"results may differ in the last bits: {describe(differing)}", is_error=True)

    def _tell_lost_replay(self, lost: Sequence[InputError]) -> None:
        """Warns that the run is no longer exact, and records it in the settings of the run."""
        step = self._acer.steps
        files = f"{counted(len(lost), 'file')} of replay left out: {' '.join(map(str, lost))}"
        say(f"{files} From step {step:,} on, this run differs from an undisturbed one.", is_error=True)
        note_lost_replay(self._checkpoints.folder.parent, step)

    def _restart_environments(self) -> None:
        # From seed and step alone, so that uninterrupted and resumed runs draw the same numbers.
        self._acer.restart_environments(derived_seed(self._seed, self._acer.steps), is_recorded=self._is_exact)


def _flat(origin: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns software and hardware with an entry for each version, so that a message can name those that differ."""
    return {**origin, **origin.get("versions", {}), "versions": None}


def write_at_last(write: Callable[[], object], path: Path, goes_on: Callable[[], bool]) -> None:
    """Retries a final write every minute while the disk is full, until there is room or a signal arrives.

    Args:
        write: raises OSError while the disk is full or cannot be written.
        path: path of the file, for messages.
        goes_on: called while waiting, as a sign of life for the watchdog; False after a signal, when this tries once.

    Raises:
        InputError: a signal has arrived, and the disk is still full.
    """
    while True:
        try:
            write()
            return
        except OSError as error:
            if not goes_on():
                raise InputError(
                    f"{path} cannot be written ({error.strerror or error}); make room and resume."
                ) from error
            say(
                f"{path} cannot be written ({error.strerror or error}); make room: what was learned is kept in "
                "memory, and writing is tried again every minute, until Ctrl-C.",
                is_error=True,
            )
        deadline = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < deadline and goes_on():
            time.sleep(min(0.2, RETRY_SECONDS))
