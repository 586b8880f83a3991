"""One checkpoint on disk: a folder of plain data files and a manifest, published completely or not at all."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.storage.arrays import load_arrays
from acer_tf.storage.durable import Fingerprint, check_whole, creating, fingerprint, publish, read_bounded, unfinished
from acer_tf.storage.replay_files import ReplayFile, check_name
from acer_tf.storage.run_files import ARRAYS, MANIFEST, STEP, VALUES

FORMAT = 2
LARGEST_TEXT = 2**26
"""Most bytes of a manifest, and of the plain values of a state."""

State = Mapping[str, Mapping[str, Any]]
"""State of a run: the arrays and plain (JSON) values of each part, by name."""


class OtherFormatError(InputError):
    """This version of the package cannot read the checkpoint's format."""


class Checkpoint(NamedTuple):
    """The manifest of a checkpoint.

    Attributes:
        path: the folder, which is not part of the manifest's text.
        step: agent steps, over all environments.
        score: mean return, by which the best checkpoint is chosen; None before any episode has ended.
        settings: settings of the run.
        origin: the software and hardware that wrote it.
        replay: files of the replay memory, oldest first.
        files: size and sha256 of every other file.
    """

    path: Path
    step: int
    score: float | None
    settings: dict[str, Any]
    origin: dict[str, Any]
    replay: list[ReplayFile]
    files: dict[str, Fingerprint]


def step_folder(folder: Path, step: int) -> Path:
    """Returns the folder of the checkpoint at this agent step."""
    return folder / f"step-{step:012d}"


def step_of(path: Path) -> int:
    """Returns the agent step of a checkpoint's folder."""
    return int(path.name.removeprefix("step-"))


def checkpoint_folders(folder: Path) -> Sequence[Path]:
    """Returns the folders of all published checkpoints, the newest first."""
    return sorted((path for path in folder.glob("step-*") if re.fullmatch(STEP, path.name)), reverse=True)


def write_checkpoint(checkpoint: Checkpoint, state: State, before_publishing: Callable[[], None]) -> None:
    """Writes a checkpoint to a temporary folder, syncs every file, the manifest last, and renames the folder.

    Args:
        checkpoint: the manifest, whose `files` are filled in here.
        state: state of every part of the run except replay.
        before_publishing: called before the folder gets its name; raises an error to prevent that.

    Raises:
        OSError: the disk is full or cannot be written; nothing has been published or left behind.
    """
    temporary = unfinished(checkpoint.path)
    temporary.mkdir(parents=True)
    try:
        arrays, values = _split(state)
        with creating(temporary / ARRAYS) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        with creating(temporary / VALUES) as file:
            file.write(_canonical(values))
        files = {name: fingerprint(temporary / name) for name in (ARRAYS, VALUES)}
        with creating(temporary / MANIFEST) as file:
            file.write(_manifest(checkpoint._replace(files=files)))
        before_publishing()  # as late as possible: another host may have taken the folder over
        publish(temporary, checkpoint.path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_manifest(path: Path) -> Checkpoint:
    """Reads the manifest of a checkpoint's folder and checks that it is unchanged.

    Raises:
        OtherFormatError: another version of this package wrote it.
        InputError: it is missing or damaged.
    """
    file = path / MANIFEST
    text = read_bounded(file, LARGEST_TEXT)
    try:
        return _parsed(path, text)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{file} is damaged ({error}).") from error


def verify(checkpoint: Checkpoint) -> None:
    """Checks size and sha256 of every file of a checkpoint except replay.

    Raises:
        InputError: a file is missing, differs or cannot be read.
    """
    if set(checkpoint.files) != {ARRAYS, VALUES}:
        raise InputError(f"{checkpoint.path / MANIFEST} names the files {sorted(checkpoint.files)}.")
    for name, expected in checkpoint.files.items():
        check_whole(checkpoint.path / name, expected)


def read_state(checkpoint: Checkpoint) -> dict[str, dict[str, Any]]:
    """Reads the state of every part of a verified checkpoint.

    Raises:
        InputError: the files match the manifest but hold something other than a state, or can no longer be read.
    """
    arrays, values = load_arrays(checkpoint.path / ARRAYS), checkpoint.path / VALUES
    text = read_bounded(values, LARGEST_TEXT)
    try:
        state: dict[str, dict[str, Any]] = json.loads(text)
        if not isinstance(state, dict) or not all(isinstance(part, dict) for part in state.values()):
            raise TypeError
        for name, array in arrays.items():
            part, _, leaf = name.partition("/")
            state[part][leaf] = array
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{values} holds no state of a run.") from error
    return state


def _parsed(path: Path, text: bytes) -> Checkpoint:
    fields = json.loads(text)
    digest = fields.pop("sha256")
    # Intact but of another format: if it counted as damaged, the run would resume from an older checkpoint.
    if fields["format"] != FORMAT and digest == _digest(fields):
        raise OtherFormatError(
            f"{path / MANIFEST} has format {fields['format']}; expected {FORMAT}: resume with the version of acer_tf "
            "that wrote it, or begin anew in another folder, or with --restart_behavior restart, which keeps this one "
            "under another name."
        )
    del fields["format"]
    replay = [ReplayFile(*entry) for entry in fields.pop("replay")]
    files = {name: Fingerprint(*entry) for name, entry in fields.pop("files").items()}
    checkpoint = Checkpoint(path=path, replay=replay, files=files, **fields)
    for entry in replay:  # a forged name could point out of the folder
        check_name(entry)
    if not isinstance(checkpoint.settings, dict) or not isinstance(checkpoint.origin, dict):
        raise ValueError("settings and origin are names and values")
    if text != _manifest(checkpoint) or step_folder(path.parent, checkpoint.step) != path:
        raise ValueError("it has been changed")
    return checkpoint


def _split(state: State) -> tuple[dict[str, NDArray[Any]], dict[str, dict[str, Any]]]:
    arrays: dict[str, NDArray[Any]] = {}
    values: dict[str, dict[str, Any]] = {part: {} for part in state}
    for part, leaves in state.items():
        for name, leaf in leaves.items():
            if isinstance(leaf, np.ndarray):
                arrays[f"{part}/{name}"] = leaf
            else:
                values[part][name] = leaf
    return arrays, values


def _canonical(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1) + "\n").encode()


def _manifest(checkpoint: Checkpoint) -> bytes:
    """Returns the only valid text of a manifest: a file that differs in any bit is damaged."""
    fields = {"format": FORMAT, **checkpoint._asdict()}
    del fields["path"]
    return _canonical({**fields, "sha256": _digest(fields)})


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(fields)).hexdigest()
