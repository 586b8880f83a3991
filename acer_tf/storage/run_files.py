"""Names of the files of a run, the only files that are ever deleted."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from acer_tf.errors import InputError

SETTINGS = "config.yml"
PROGRESS, PROGRESS_LINES = "progress.csv", "progress.jsonl"
MONITOR, EPISODES, EVALUATIONS, USAGE = "monitor.csv", "episodes.csv", "evaluations.csv", "usage.csv"
MODEL, BEST = "model.zip", "best.zip"
NOT_FINITE = "not-finite-"
"""Prefix of the file of a batch in which a value was not finite; the agent step follows."""
CHECKPOINTS, REPLAY = "checkpoints", "replay"
MANIFEST, ARRAYS, VALUES = "manifest.json", "arrays.npz", "state.json"
"""Files of a checkpoint."""
STEP = r"step-\d{12}"
"""Pattern of a checkpoint's folder."""
REPLAY_FILE = r"\d{12}-\d{12}-[0-9a-f]{16}\.npz"
UNFINISHED_REPLAY = r"\.tmp-rows-[0-9a-f]+|\.?\.tmp\.npz(-\d+)?"
"""Pattern of files that a crash leaves, also those of earlier versions."""
TENSORBOARD = "tb"
EVENTS = "events.out.tfevents."
"""Prefix by which TensorBoard recognizes its files."""
WANDB, WANDB_ID = "wandb", "wandb_id"
LOCK, LEASE, HOLDER = LOCK_FILES = ".lock", ".lease", ".holder"

_OF_EARLIER_VERSIONS = ("mlflow.db", "mlflow_id", ".attempt")
_PLAIN = (SETTINGS, PROGRESS, PROGRESS_LINES, MONITOR, EPISODES, EVALUATIONS, USAGE, MODEL, BEST, WANDB_ID)
_WRITTEN = re.compile(
    "|".join(map(re.escape, (*_PLAIN, *_OF_EARLIER_VERSIONS)))
    + rf"|best-\d+(-\d+)?\.zip|{NOT_FINITE}\d+\.npz|{TENSORBOARD}/{re.escape(EVENTS)}[^/]+|{WANDB}/.+"
    rf"|{CHECKPOINTS}/[^/]*{STEP}(-[0-9a-f]+)?/({re.escape(MANIFEST)}|{re.escape(VALUES)}|\.?{re.escape(ARRAYS)}(-\d+)?)"
    rf"|{CHECKPOINTS}/{REPLAY}/({REPLAY_FILE}|{UNFINISHED_REPLAY})"
    r"|\.tmp-[^/]+-[0-9a-f]+|\.lease\.[^/]+|\.(attempt|[^/]+\.(zip|yml|npz))-\d+"  # unfinished, after a crash
)
"""Paths of files, relative to the run folder, besides the lock's."""
_NAMED = 3
"""Most files to name in a message."""


def delete_run(folder: Path) -> None:
    """Deletes the files of a run from its folder, but neither the folder nor its lock.

    Raises:
        InputError: the folder holds other files; nothing has been deleted.
    """
    written, others = list[Path](), list[Path]()
    for path in _files(folder):
        (written if _WRITTEN.fullmatch(path.relative_to(folder).as_posix()) else others).append(path)
    if others:
        shown = [str(path.relative_to(folder)) for path in others[:_NAMED]]
        rest = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        raise InputError(
            f"{folder} holds files that no run writes ({', '.join(shown)}{rest}), so it is not overwritten; move them, "
            "or keep all under another name with --restart_behavior restart."
        )
    for path in written:
        path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):  # a folder follows its contents
        if path.is_dir() and not path.is_symlink():
            path.rmdir()


def check_links(folder: Path) -> None:
    """Checks that no file or folder of a run is a link, as writing or deleting there would change its target.

    Raises:
        InputError: one is a link, as may happen in a folder from somebody else.
    """
    ours = (*_PLAIN, *LOCK_FILES, CHECKPOINTS, TENSORBOARD, WANDB)
    below = itertools.chain.from_iterable((folder / name).rglob("*") for name in (CHECKPOINTS, TENSORBOARD))
    for path in (*(folder / name for name in ours), *below):
        if path.is_symlink():
            raise InputError(
                f"{path} is a link, whose target a run would change; replace it by its target (the run folder itself "
                "may be a link)."
            )


def _files(folder: Path) -> Sequence[Path]:
    """Returns all files except the lock's, including links to folders, which are not followed."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return [path for path in found if path.relative_to(folder).as_posix() not in LOCK_FILES]
