"""All checkpoints of a run: which are kept, and which one a run resumes from."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import (
    STEP,
    Checkpoint,
    State,
    manifests,
    read_manifest,
    read_state,
    step_folder,
    verify,
    write_checkpoint,
)
from acer_tf.storage.durable import free_path, sync_folder
from acer_tf.storage.replay_files import ReplayFile, Rows, read_rows, remove_unused, write_new_rows


class Checkpoints:
    """A run's folder of checkpoints, to be used by one process at a time.

    Attributes:
        folder: holds `step-<12 digits>` for each checkpoint, and `replay`.
    """

    def __init__(self, folder: Path, keep: int, keep_every: int | None) -> None:
        """Takes the folder; `tidy` removes what a crash left there.

        Args:
            folder: need not exist.
            keep: the last so many checkpoints are kept, and the best.
            keep_every: of every so many agent steps one checkpoint is kept for good; None keeps none.
        """
        self.folder = folder
        self._keep = keep
        self._keep_every = keep_every
        self._replay: list[ReplayFile] = []

    def save(
        self,
        step: int,
        state: State,
        memory: Rows,
        score: float | None,
        settings: Mapping[str, Any],
        origin: Mapping[str, Any],
    ) -> None:
        """Publishes a checkpoint, unless there is one of this step, then deletes those that need not be kept.

        Raises:
            OSError: the disk is full or cannot be written; the checkpoints from before are as they were.
        """
        path = step_folder(self.folder, step)
        if path.exists():
            return
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            sync_folder(self.folder.parent)
        self._replay = write_new_rows(self.folder, memory, self._replay)
        write_checkpoint(Checkpoint(path, step, score, dict(settings), dict(origin), self._replay, {}), state)
        self._prune()

    def verified(self) -> Iterator[Checkpoint | InputError]:
        """Yields the checkpoints, newest first; in the place of a damaged one, what is wrong with it."""
        for path in manifests(self.folder):
            try:
                checkpoint = read_manifest(path)
                verify(checkpoint)
            except InputError as error:
                yield error
            else:
                yield checkpoint

    def restore(self, checkpoint: Checkpoint, memory: Rows) -> dict[str, dict[str, Any]]:
        """Fills the memory from a verified checkpoint, and returns the state of all other parts.

        Newer checkpoints are damaged, or this one would not have been chosen: they are put aside.
        """
        state = read_state(checkpoint)
        read_rows(self.folder, checkpoint.replay, memory)
        self._replay = checkpoint.replay
        for path in manifests(self.folder):
            if path.name > checkpoint.path.name:
                path.rename(free_path(path.with_name(f"damaged-{path.name}")))
        return state

    def tidy(self) -> None:
        """Deletes what a crash left unfinished."""
        for path in (*self.folder.glob(".tmp-*"), *self.folder.glob(".trash-*")):
            shutil.rmtree(path)

    def _prune(self) -> None:
        found = {path: _manifest_or_none(path) for path in manifests(self.folder)}
        checkpoints = {path: c for path, c in found.items() if c is not None}  # damaged ones are not ours to delete
        kept = set(list(checkpoints)[: self._keep]) | self._best(checkpoints) | self._milestones(checkpoints)
        for path in checkpoints.keys() - kept:
            trash = path.with_name(f".trash-{path.name}")
            path.rename(trash)
            shutil.rmtree(trash)
        remove_unused(self.folder, (file for path in kept for file in checkpoints[path].replay))

    @staticmethod
    def _best(checkpoints: Mapping[Path, Checkpoint]) -> set[Path]:
        scores = {path: c.score for path, c in checkpoints.items() if c.score is not None}
        return {max(scores, key=scores.__getitem__)} if scores else set()

    def _milestones(self, checkpoints: Mapping[Path, Checkpoint]) -> set[Path]:
        if self._keep_every is None:
            return set()
        first_of_each: dict[int, Path] = {}
        for path in sorted(checkpoints):
            match = STEP.fullmatch(path.name)
            assert match is not None
            first_of_each.setdefault(int(match[1]) // self._keep_every, path)
        first_of_each.pop(0, None)
        return set(first_of_each.values())


def _manifest_or_none(path: Path) -> Checkpoint | None:
    try:
        return read_manifest(path)
    except InputError:
        return None
