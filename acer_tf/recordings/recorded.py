"""Files of recorded numerics: named arrays, and `config` as JSON text."""

import fnmatch
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.storage.arrays import load_arrays

CURVES = "curves"
_KINDS = {
    "trajectory": ("batch/from_replay",),
    "model": ("batch/obs",),
    "buffer": ("put/enc_obs",),
    "runner": ("run/enc_obs",),
    "stack_obs": ("[0-9]*/enc_obs",),
    "vec_frame_stack": ("[0-9]*/stacked",),
    "ortho_init": ("[0-9]*/w",),
    "schedules": ("value_steps/*", "value/*"),
    "explained_variance": ("ev/*/pred",),
    "small_math": ("retrace/*/qret", "small/p"),
    "episode_stats": ("mean_length_reward",),
    CURVES: ("*/timestep", "*/[0-9]*/steps", "steps_[0-9]*"),
}
_RECURRENT = ("batch/states", "step/S", "model/S")


class Recorded:
    """A recording: its arrays and its config.

    Attributes:
        path: path of the file.
        kind: what was recorded, inferred from the names of the arrays.
    """

    def __init__(self, path: Path, arrays: dict[str, NDArray[Any]]) -> None:
        """Parses `config` and infers the kind.

        Raises:
            InputError: `config` is not a JSON object, or no kind has arrays of these names.
        """
        self.path = path
        self._arrays = arrays
        self._config = _config(path, arrays)
        self.kind = _kind(path, arrays)

    def __getitem__(self, key: str) -> NDArray[Any]:
        """Returns an array; a missing one raises an `InputError`."""
        if key not in self._arrays:
            raise InputError(f"{self.path} lacks the array {key}, which a recording of kind {self.kind} has.")
        return self._arrays[key]

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    @property
    def is_recurrent(self) -> bool:
        """True if the recorded network is recurrent."""
        return any(key in self for key in _RECURRENT)

    def setting(self, name: str) -> Any:
        """Returns an entry of `config`.

        Raises:
            InputError: the entry is missing.
        """
        if name not in self._config:
            raise InputError(f"{self.path} lacks {name} in its config, which a recording of kind {self.kind} has.")
        return self._config[name]

    def settings(self, names: Iterable[str]) -> dict[str, Any]:
        """Returns the entries of `config` with these names; missing ones are left out."""
        return {name: self._config[name] for name in names if name in self._config}

    def group(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Returns the arrays whose names start with `prefix/`, by the rest of their names."""
        start = f"{prefix}/"
        return {key.removeprefix(start): array for key, array in self._arrays.items() if key.startswith(start)}

    def indices(self, prefix: str = "") -> list[int]:
        """Returns the sorted numbers j of arrays named `<prefix>j/...`."""
        heads = {key.removeprefix(prefix).split("/")[0] for key in self._arrays if key.startswith(prefix)}
        return sorted(int(head) for head in heads if head.isdecimal())

    def has_parameters(self, group: str) -> bool:
        """Returns whether the recording has a group of per-parameter arrays, in full or sampled."""
        return any(key.startswith((f"{group}/", f"{group}.head/")) for key in self._arrays)

    def matches(self, group: str, name: str, ours: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Pairs a parameter's computed array with the recorded one.

        Args:
            group: name of the group.
            name: name of the parameter.
            ours: computed array, in any shape.

        Returns:
            Pairs (computed, recorded) of the arrays or, if the recording is sampled, of their samples (the first
            entries, and entries at a stride) and of their norms; empty if the parameter was not recorded.
        """
        if f"{group}/{name}" in self:
            return [(ours, self[f"{group}/{name}"])]
        if f"{group}.head/{name}" not in self:
            return []
        head, stride = self[f"{group}.head/{name}"], self[f"{group}.stride/{name}"]
        flat = ours.reshape(-1)
        samples = np.concatenate([flat[: len(head)], flat[:: int(self[f"{group}.step/{name}"])]])
        norm = np.linalg.norm(flat.astype(np.float64))
        return [(samples, np.concatenate([head, stride])), (np.asarray(norm), self[f"{group}.norm/{name}"])]


def read(path: Path) -> Recorded:
    """Reads one recording.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    return Recorded(path, load_arrays(path))


def find(paths: Sequence[Path]) -> list[Path]:
    """Returns the given files, with folders replaced by their npz and csv files in order.

    Raises:
        InputError: a path does not exist, or a folder holds no npz file.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist; expected an npz file of recorded numerics or a folder of them.")
        found = sorted(file for file in path.iterdir() if file.suffix in (".npz", ".csv")) if path.is_dir() else [path]
        if not any(file.suffix == ".npz" for file in found) and path.is_dir():
            raise InputError(f"{path} holds no npz file; expected a folder of recorded numerics.")
        files += found
    return files


def _config(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        config = json.loads(str(arrays.get("config", "{}")))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} has a config that is not JSON ({error}).") from error
    if not isinstance(config, dict):
        raise InputError(f"{path} has a config of type {type(config).__name__}; expected a JSON object.")
    return config


def _kind(path: Path, arrays: dict[str, NDArray[Any]]) -> str:
    for kind, patterns in _KINDS.items():
        if any(fnmatch.filter(arrays, pattern) for pattern in patterns):
            return kind
    raise InputError(f"{path} holds no recorded numerics; expected one of the kinds {', '.join(_KINDS)}.")
