"""Arrays by name in one npz file: no pickle, a checksum per array, replaced in one step."""

import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError


def save_arrays(path: str | Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes the arrays beside `path`, syncs and renames: after a crash there is the old file or the new one, whole."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Reads all arrays of a file.

    Raises:
        InputError: there is no such file, or it is not a whole npz file of plain arrays.
    """
    if not Path(path).is_file():
        raise InputError(f"{path} is not a file; expected an npz file of saved weights.")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not a readable npz file of arrays ({error}).") from error
