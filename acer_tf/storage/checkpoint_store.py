"""The checkpoints of a run: writes them, chooses which to keep, and finds one to resume from."""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import (
    Checkpoint,
    OtherFormatError,
    State,
    checkpoint_folders,
    read_manifest,
    read_state,
    step_folder,
    step_of,
    verify,
    write_checkpoint,
)
from acer_tf.storage.durable import is_missing, sync_folder, unfinished
from acer_tf.storage.paths import free_path
from acer_tf.storage.replay_files import ReplayFile, Rows, read_rows, unused, write_new_rows
from acer_tf.storage.run_files import STEP
from acer_tf.system.console import say


class CheckpointStore:
    """A run's folder of checkpoints, used by one process at a time.

    Attributes:
        folder: holds `step-<12 digits>` for each checkpoint, and `replay`.
    """

    def __init__(
        self, folder: Path, keep: int, keep_every: int | None, before_publishing: Callable[[], None] = lambda: None
    ) -> None:
        """Neither reads nor writes anything yet.

        Args:
            folder: the folder, which need not exist.
            keep: number of newest checkpoints to keep, besides the best.
            keep_every: agent steps; the first checkpoint after each multiple is kept for good. None keeps none.
            before_publishing: called before a checkpoint is published; raises an error to prevent that.
        """
        self.folder = folder
        self._keep = keep
        self._keep_every = keep_every
        self._before_publishing = before_publishing
        self._replay: list[ReplayFile] = []
        self._has_begun = False

    @property
    def is_gone(self) -> bool:
        """Whether the folder was moved or deleted since this process saved or restored a checkpoint there."""
        return self._has_begun and is_missing(self.folder)

    def save(
        self,
        step: int,
        state: State,
        memory: Rows,
        score: float | None,
        settings: Mapping[str, Any],
        origin: Mapping[str, Any],
    ) -> None:
        """Publishes a checkpoint, unless this step has one, then deletes those that need not be kept.

        If files that it would share with others were moved or deleted, it is written without them.

        Args:
            step: agent steps so far, over all environments.
            state: state of every part of the run except replay.
            memory: the replay memory, of which only new rows are written.
            score: mean return, by which the best checkpoint is chosen; None before any episode has ended.
            settings: settings of the run.
            origin: software and hardware.
        """
        path = step_folder(self.folder, step)
        if path.exists():  # resumed here, or saved by a signal at the step of a regular checkpoint
            return
        if self.is_gone:
            say(f"{self.folder} was moved or deleted; this checkpoint does not depend on it.", is_error=True)
            self._replay = []
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            sync_folder(self.folder.parent)
        # Replay first: the manifest names its files, which must be on the disk before it.
        self._replay = write_new_rows(self.folder, memory, self._replay)
        checkpoint = Checkpoint(path, step, score, dict(settings), dict(origin), self._replay, {})
        write_checkpoint(checkpoint, state, self._before_publishing)
        self._has_begun = True
        self._prune()  # only now: until here, the previous checkpoint is the one to resume from

    def verified(self) -> Iterator[Checkpoint | InputError]:
        """Yields the checkpoints, the newest first, with an InputError in place of each damaged one.

        It does not check files of replay.

        Raises:
            OtherFormatError: another version of this package wrote a checkpoint.
        """
        for path in checkpoint_folders(self.folder):
            try:
                checkpoint = read_manifest(path)
                verify(checkpoint)
            except OtherFormatError:
                raise  # it is intact: resuming from an older one would drop it as damaged
            except InputError as error:
                yield error
            else:
                yield checkpoint

    def restore(self, checkpoint: Checkpoint, memory: Rows) -> tuple[dict[str, dict[str, Any]], list[InputError]]:
        """Fills the replay memory from a verified checkpoint, as far as replay is intact, and reads all other parts.

        Newer checkpoints, which must be damaged since this one was chosen, are renamed to `damaged-...`.

        Returns:
            The state of every part of the run except replay, and an error for each damaged file of replay, whose rows
            are missing from the memory.

        Raises:
            InputError: the checkpoint's files hold something other than a state.
        """
        state = read_state(checkpoint)
        lost = read_rows(self.folder, checkpoint.replay, memory)
        self._has_begun = True
        self._replay = [] if lost else checkpoint.replay  # no file holds renumbered rows yet
        # Otherwise a later start would take them for newer than what this run saves from here on.
        for path in checkpoint_folders(self.folder):
            if path.name > checkpoint.path.name:
                path.rename(free_path(path.with_name(f"damaged-{path.name}")))
        return state, lost

    def tidy(self) -> None:
        """Deletes the folders that a crash left unfinished."""
        for path in self.folder.glob(".t*"):
            if re.match(rf"((\.tmp-)+|\.trash-){STEP}", path.name):  # trash: from an earlier version
                _delete(path)

    def _prune(self) -> None:
        found = {path: _manifest_or_none(path) for path in checkpoint_folders(self.folder)}
        readable = {path: c for path, c in found.items() if c is not None}  # unreadable ones are left to the user
        kept = set(list(readable)[: self._keep]) | _best(readable) | self._milestones(readable)
        used = [file for path in kept for file in readable[path].replay]
        # One that cannot be read now may need any replay file.
        replay = unused(self.folder, used) if len(readable) == len(found) else ()
        for path in (*(readable.keys() - kept), *replay):
            _delete(path)

    def _milestones(self, checkpoints: Mapping[Path, Checkpoint]) -> set[Path]:
        if self._keep_every is None:
            return set()
        first_of_each: dict[int, Path] = {}
        for path in sorted(checkpoints):
            first_of_each.setdefault(step_of(path) // self._keep_every, path)
        first_of_each.pop(0, None)  # step 0 follows no multiple
        return set(first_of_each.values())


def _delete(path: Path) -> None:
    """Deletes a file, link or folder if possible; a failed deletion must not prevent a checkpoint."""
    try:
        if path.is_dir() and not path.is_symlink():
            trash = unfinished(path)
            path.rename(trash)  # atomic: a crash must not leave half a checkpoint under its name
            shutil.rmtree(trash)
        else:
            path.unlink()
    except OSError as error:
        say(f"{error.filename or path} cannot be deleted ({error.strerror}); it stays.", is_error=True)


def _best(checkpoints: Mapping[Path, Checkpoint]) -> set[Path]:
    scores = {path: c.score for path, c in checkpoints.items() if c.score is not None}
    return {max(scores, key=scores.__getitem__)} if scores else set()


def _manifest_or_none(path: Path) -> Checkpoint | None:
    try:
        return read_manifest(path)
    except InputError:
        return None
