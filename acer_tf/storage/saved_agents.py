"""Loads an agent from a file, run folder or checkpoint."""

import contextlib
import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from acer_tf.errors import InputError
from acer_tf.schema import CountOrZero, validated
from acer_tf.storage.agent_file import Arrays, File, file_name, read_agent
from acer_tf.storage.checkpoint import (
    checkpoint_folders,
    read_manifest,
    read_state,
    step_of,
    verify,
)
from acer_tf.storage.durable import reading
from acer_tf.storage.paths import free_path, user_path
from acer_tf.storage.run_files import BEST, CHECKPOINTS, MANIFEST, MODEL
from acer_tf.system.console import say

PART = "agent"
"""The part of a checkpoint's state that describes the agent."""
Choice = int | Literal["best", "latest"]
"""Choice among a run's agents: the one at an agent step, the best, or the one that has trained longest."""


class SavedAgent(NamedTuple):
    """An agent that has been read but not built.

    Attributes:
        name: name for messages: its file or checkpoint.
        data: plain values.
        groups: arrays by name, in groups by name.
        settings: settings of its run, from a checkpoint; None for a file.
    """

    name: str
    data: dict[str, Any]
    groups: dict[str, Arrays]
    settings: dict[str, Any] | None = None

    def fingerprint(self) -> str:
        """Returns the SHA-256 of the agent's arrays, 64 hexadecimal digits, which differs if weights differ."""
        digest = hashlib.sha256()
        arrays = {f"{group}/{name}": a for group, named in self.groups.items() for name, a in named.items()}
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def keep_lost(path: Path, step: int) -> None:
    """Renames an agent that has trained for longer than the resumed run, before a new one replaces it.

    Args:
        path: the agent's file, which need not exist.
        step: the agent step from which training resumes.
    """
    with contextlib.suppress(InputError, OSError):  # damaged or missing
        learned = count(read_agent(path)[0], "num_timesteps", str(path))
        if learned > step:
            kept = free_path(path.with_name(f"{path.stem}-{learned:012d}"), ".zip")
            path.rename(kept)
            say(
                f"{path} is from step {learned:,}, which this run has not reached yet; it is now {kept}.",
                is_error=True,
            )


def count(data: Mapping[str, Any], name: str, source: str) -> int:
    """Returns a whole number >= 0 among the values of an agent's file.

    Raises:
        InputError: it is missing or something else.
    """
    return int(validated(f"{source} is damaged: {name}", data.get(name), CountOrZero))


def part_of_checkpoint(data: Mapping[str, Any], groups: Mapping[str, Arrays]) -> dict[str, Any]:
    """Returns what a checkpoint adds to the part `model` to hold everything that an agent's file does.

    Args:
        data: plain values of the file.
        groups: arrays of the file, in groups by name.
    """
    arrays = {f"{group}/{name}": array for group in groups.keys() - {"model"} for name, array in groups[group].items()}
    return {"data": dict(data), **arrays}


def read_saved_agent(source: File, choice: Choice = "latest") -> SavedAgent:
    """Reads an agent, without taking a lock; a checkpoint need not be in a run folder.

    In a run folder, the latest agent is model.zip or a newer checkpoint; damaged ones are skipped, with a warning. The
    best is best.zip, or else the checkpoint with the highest mean return in training.

    Args:
        source: a run folder, one of its checkpoints, or an agent's file.
        choice: which agent of a run folder.

    Raises:
        InputError: there is no such agent, or none that is intact.
    """
    path = user_path(source) if isinstance(source, str | os.PathLike) else None
    with reading(Path(file_name(source))):
        if path is not None and path.is_dir() and not is_checkpoint(path):
            return _of_run(path, choice)
        if choice != "latest":
            raise InputError(f"{file_name(source)} is a single agent; to choose a checkpoint, give a run folder.")
        if path is not None and path.is_dir():
            return _in_checkpoint(path)
        return SavedAgent(file_name(source), *read_agent(source))


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder is a single checkpoint."""
    return (folder / MANIFEST).exists()


def _of_run(run: Path, choice: Choice) -> SavedAgent:
    if isinstance(choice, int):
        return _at_step(run, choice)
    if choice == "best":
        missing = "has no best agent yet; expected an evaluation, or a checkpoint after the end of an episode."
        return _first_whole(run, _by_score(run), missing)
    missing = "holds no agent; expected a run folder, a checkpoint, or a file that ACER.save wrote."
    return _first_whole(run, _by_step(run), missing)


def _in_checkpoint(path: Path) -> SavedAgent:
    checkpoint = read_manifest(path)
    verify(checkpoint)
    state = read_state(checkpoint)
    if "data" not in state.get(PART, {}):
        raise InputError(f"{path} does not describe its agent: it is of an earlier version; resume the run once.")
    data = state[PART].pop("data")
    model = {f"model/{name}": array for name, array in state.get("model", {}).items() if name != "random"}
    groups: dict[str, Arrays] = {}
    for name, array in {**model, **state[PART]}.items():
        if not isinstance(array, np.ndarray):
            raise InputError(f"{path} is damaged: {name} of its agent is not an array.")
        group, _, leaf = name.partition("/")
        groups.setdefault(group, {})[leaf] = array
    if not isinstance(data, dict):
        raise InputError(f"{path} is damaged: it does not describe its agent.")
    return SavedAgent(str(path), data, groups, checkpoint.settings)


def _in_file(path: Path) -> SavedAgent:
    saved = SavedAgent(str(path), *read_agent(path))
    count(saved.data, "num_timesteps", saved.name)
    return saved


def _at_step(run: Path, step: int) -> SavedAgent:
    folders = {step_of(path): path for path in _checkpoints(run)}
    if step in folders:
        return _in_checkpoint(folders[step])
    near = sorted(sorted(folders, key=lambda other: abs(other - step))[:2])
    there = f"the nearest: {' and '.join(map(str, near))}" if near else "nor at any other"
    raise InputError(f"{run} has no checkpoint at step {step}; {there}.")


def _checkpoints(run: Path) -> Sequence[Path]:
    """Returns the folders of a run's checkpoints, newest first; `run` may also be the folder of checkpoints."""
    return checkpoint_folders(run / CHECKPOINTS if (run / CHECKPOINTS).is_dir() else run)


def _first_whole(run: Path, found: Iterator[SavedAgent | InputError], missing: str) -> SavedAgent:
    problems = list[InputError]()
    for saved in found:
        if isinstance(saved, SavedAgent):
            for problem in problems:
                say(f"skipped: {problem}", is_error=True)
            return saved
        problems.append(saved)
    if problems:
        raise InputError(f"{run} holds no agent that is whole: {problems[0]}")
    raise InputError(f"{run} {missing}")


def _read(path: Path) -> SavedAgent | InputError:
    try:
        return _in_checkpoint(path) if path.is_dir() else _in_file(path)
    except InputError as error:
        return error


def _by_step(run: Path) -> Iterator[SavedAgent | InputError]:
    """Yields the agents of a run, even one in progress, those that have trained longest first.

    Checkpoints are listed anew after each one, as a deleted checkpoint has a successor.
    """
    final = _read(run / MODEL) if (run / MODEL).exists() else None
    learned = final.data["num_timesteps"] if isinstance(final, SavedAgent) else -1
    if isinstance(final, InputError):
        yield final
    tried = set[Path]()
    while path := next((path for path in _checkpoints(run) if path not in tried), None):
        tried.add(path)
        if step_of(path) > learned:
            yield _read(path)
    if isinstance(final, SavedAgent):
        yield final


def _by_score(run: Path) -> Iterator[SavedAgent | InputError]:
    if (run / BEST).exists():
        yield _read(run / BEST)
    scores: dict[Path, float] = {}
    for path in _checkpoints(run):
        try:
            score = read_manifest(path).score
        except InputError:
            score = math.inf  # it will be skipped
        scores |= {} if score is None else {path: score}
    yield from map(_read, sorted(scores, key=scores.__getitem__, reverse=True))
