"""Small checkpoints with a real replay memory."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from acer_tf.acer import TrainingLoop
from acer_tf.buffer import Buffer
from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import Checkpoint, checkpoint_folders, step_of
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.run_files import LOCK_FILES
from tests.agents import NSTEPS, make_segment

SLOTS = 6
SETTINGS = {"env": "Some-v0", "seed": 3, "nested": [1, None, True]}
ORIGIN = {"versions": {"numpy": "2"}}


def make_buffer(segments: int = 0) -> Buffer:
    """A memory of `SLOTS` segments to which so many were put."""
    buffer = Buffer(NSTEPS, SLOTS * NSTEPS)
    put(buffer, segments)
    return buffer


def put(buffer: Buffer, segments: int) -> None:
    for _ in range(segments):
        buffer.put(make_segment(buffer.num_put))


def make_state(step: int) -> dict[str, dict[str, Any]]:
    random = np.random.default_rng(step)
    weights = {"param/a": random.normal(size=(3, 4)).astype(np.float32), "param/b": np.array(step), "none": np.empty(0)}
    return {"model": weights, "loop": {"steps": step, "seconds": 0.5, "seed": None}, "logger": {"progress.csv": 17}}


def make_checkpoints(folder: Path, keep: int = 100, keep_every: int | None = None) -> CheckpointStore:
    return CheckpointStore(folder, keep, keep_every)


def save(checkpoints: CheckpointStore, step: int, buffer: Buffer, score: float | None = None) -> None:
    checkpoints.save(step, make_state(step), buffer, score, SETTINGS, ORIGIN)


def save_some(folder: Path, steps: int = 3) -> Buffer:
    """Checkpoints at the steps 0, 1, 2, ...; the first without replay, then 2 segments more in each."""
    checkpoints, buffer = make_checkpoints(folder), make_buffer()
    for step in range(steps):
        save(checkpoints, step, buffer)
        put(buffer, 2)
    return buffer


def found(folder: Path) -> tuple[Checkpoint | None, list[InputError]]:
    """The checkpoint that a run would resume from, and what is wrong with newer ones."""
    problems = []
    for item in make_checkpoints(folder).verified():
        if isinstance(item, Checkpoint):
            return item, problems
        problems.append(item)
    return None, problems


def assert_restores(folder: Path, checkpoint: Checkpoint, buffer: Buffer) -> None:
    """State and memory come back bit for bit."""
    again = make_buffer()
    state, lost = make_checkpoints(folder).restore(checkpoint, again)
    assert lost == []
    assert_equal(state, make_state(checkpoint.step))
    assert_same_rows(again, buffer)


def assert_equal(state: dict[str, dict[str, Any]], expected: dict[str, dict[str, Any]]) -> None:
    assert state.keys() == expected.keys()
    for part, leaves in expected.items():
        assert state[part].keys() == leaves.keys(), part
        for name, leaf in leaves.items():
            np.testing.assert_array_equal(state[part][name], leaf, err_msg=name, strict=isinstance(leaf, np.ndarray))


def assert_same_rows(first: Buffer, second: Buffer) -> None:
    assert (first.num_put, first.oldest) == (second.num_put, second.oldest)
    ours, theirs = (buffer.rows(buffer.oldest, buffer.num_put) for buffer in (first, second))
    assert ours.keys() == theirs.keys()
    for name, rows in ours.items():
        np.testing.assert_array_equal(rows, theirs[name], err_msg=name, strict=True)


def forge_manifest(path: Path, **changes: Any) -> Path:
    """Changes fields of a checkpoint's manifest, with a right checksum; returns the checkpoint's folder."""
    file = path / "manifest.json"
    fields = json.loads(file.read_bytes()) | changes
    del fields["sha256"]
    digest = hashlib.sha256(_manifest_text(fields)).hexdigest()
    file.write_bytes(_manifest_text({**fields, "sha256": digest}))
    return path


def _manifest_text(fields: dict[str, Any]) -> bytes:
    return (json.dumps(fields, sort_keys=True, indent=1) + "\n").encode()


def steps(folder: Path) -> list[int]:
    """Those of all published checkpoints, oldest first."""
    return [step_of(path) for path in reversed(checkpoint_folders(folder))]


def files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def hashes(folder: Path) -> dict[str, str]:
    """sha256 of every file below a folder but the lock's."""
    found = [path for path in files(folder) if path.name not in LOCK_FILES]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def assert_same_runs(first: TrainingLoop, second: TrainingLoop) -> None:
    """All but seconds, bit for bit."""
    ours, theirs = first.state_dict(), second.state_dict()
    assert ours.keys() == theirs.keys()
    for part, leaves in ours.items():
        assert leaves.keys() == theirs[part].keys(), part
        for name in leaves.keys() - {"seconds"}:
            np.testing.assert_array_equal(leaves[name], theirs[part][name], err_msg=f"{part} {name}")
