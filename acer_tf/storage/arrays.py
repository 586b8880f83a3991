"""Arrays by name in one npz file: plain data, a checksum per array, replaced in one step."""

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.storage.durable import replacing

LARGEST_COMPRESSED = 2**30
"""Bytes that all compressed arrays of a file may have together."""


def save_arrays(path: str | Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes the arrays to one npz file; an old file is replaced in one step or not at all."""
    with replacing(Path(path)) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Reads all arrays of a file, as `read_arrays` does.

    Raises:
        InputError: there is no such file, or it is not a whole npz file of plain arrays.
    """
    if not Path(path).is_file():
        raise InputError(f"{path} is not a file; expected an npz file of saved arrays.")
    try:
        with open(path, "rb") as file:
            return read_arrays(file)
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is not a readable npz file of arrays ({error}).") from error


def read_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Reads all arrays of an open file.

    Before any memory is taken, every array must be of numbers or text and have exactly the bytes that its shape says,
    and what is compressed must not be larger than `LARGEST_COMPRESSED`: a small file cannot become a large array.

    Raises:
        ValueError: it is not a whole npz file of plain arrays.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            _check(archive)
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from error


def _check(archive: zipfile.ZipFile) -> None:
    unpacked = sum(member.file_size for member in archive.infolist() if member.file_size != member.compress_size)
    if unpacked > LARGEST_COMPRESSED:
        raise ValueError(f"it would unpack to {unpacked / 2**30:.1f} GiB")
    for member in archive.infolist():
        _check_member(archive, member)


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    with archive.open(member) as file:
        shape, dtype, header = _header(file)  # type: ignore[arg-type]
    if dtype.kind not in "biufcU":
        raise ValueError(f"{member.filename} holds {dtype}, neither numbers nor text")
    if header + int(np.prod(shape, dtype=object)) * dtype.itemsize != member.file_size:
        raise ValueError(f"{member.filename} does not hold the array of shape {shape} that it announces")


def _header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except (TypeError, MemoryError, RecursionError, tokenize.TokenError) as error:  # of a text that is no header
        raise ValueError("a header cannot be read") from error
    return shape, dtype, file.tell()
