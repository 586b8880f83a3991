"""Which files in a run folder a run writes: only those are ever deleted."""

import re
from collections.abc import Sequence
from pathlib import Path

from acer_tf.errors import InputError
from acer_tf.storage.lock import LOCK_FILES

WRITTEN = re.compile(
    r"config\.yml|(progress|monitor|episodes|evaluations|usage)\.csv|progress\.jsonl|(model|best)\.zip"
    r"|not-finite-\d+\.npz|tb/events\.out\.tfevents\.[^/]+"
    r"|checkpoints/[^/]*step-\d{12}(-\d+)?/(manifest\.json|state\.json|\.?arrays\.npz(-\d+)?)"
    r"|checkpoints/replay/(\d{12}-\d{12}-[0-9a-f]{16}|\.?\.tmp)\.npz(-\d+)?"
    r"|wandb/.+|mlflow\.db"
    r"|\.attempt-\d+|\.lease\.[^/]+|\.[^/]+\.(zip|yml|npz)-\d+"  # unfinished, after a crash
)
"""Paths of files, relative to the run folder, besides the lock's."""
NAMED = 3
"""Files to name in a message."""


def delete_run(folder: Path) -> None:
    """Deletes what a run has written to a folder, but not the folder and its lock.

    Raises:
        InputError: the folder holds anything else. Nothing has been deleted then.
    """
    written, others = list[Path](), list[Path]()
    for path in _files(folder):
        (written if WRITTEN.fullmatch(path.relative_to(folder).as_posix()) else others).append(path)
    if others:
        shown = [str(path.relative_to(folder)) for path in others[:NAMED]]
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        raise InputError(
            f"{folder} holds files that no run writes ({', '.join(shown)}{rest}), so it is not overwritten; move them, "
            "or keep all under another name with --restart_behavior restart."
        )
    for path in written:
        path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):  # a folder follows its contents
        if path.is_dir() and not path.is_symlink():
            path.rmdir()


def _files(folder: Path) -> Sequence[Path]:
    """Returns all files but the lock's, links to folders among them, which are not followed."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return [path for path in found if path.relative_to(folder).as_posix() not in LOCK_FILES]
