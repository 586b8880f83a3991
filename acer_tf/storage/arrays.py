"""Named arrays: saved in one npz file with a checksum each, read with care, and checked against expected arrays."""

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from acer_tf.errors import InputError
from acer_tf.storage.durable import replacing
from acer_tf.storage.paths import user_path
from acer_tf.storage.recognition import Content, hint
from acer_tf.storage.zip_files import check_members

LARGEST_EMPTY = 2**20
"""Largest product of an empty array's nonzero axes."""
LARGEST_COMPRESSED = 2**30
"""Most bytes of all compressed arrays in a file together, once unpacked."""

Array = NDArray[Any]


def save_arrays(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Writes the arrays to one npz file; an old file is replaced in one step or not at all."""
    with replacing(user_path(path)) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_arrays(path: str | Path) -> dict[str, Array]:
    """Reads all arrays of a file, like `read_arrays`.

    Raises:
        InputError: there is no such file, or it is not a complete npz file of plain arrays.
    """
    source = user_path(path)
    try:
        if not source.is_file():
            raise InputError(f"{path} is not a file; expected an npz file of saved arrays.")
        with source.open("rb") as file:
            try:
                return read_arrays(file)
            except ValueError as error:
                known = hint(file, Content.WEIGHTS)
                raise InputError(f"{path} is not a readable npz file of arrays ({error!s:.200}).{known}") from error
    except OSError as error:
        raise InputError(f"{path} is not a readable npz file of arrays ({error!s:.200}).") from error


def read_arrays(file: BinaryIO, may_be_compressed: bool = True) -> dict[str, Array]:
    """Reads all arrays of an open file.

    Before it allocates memory, it checks the zip's directory (`check_members`) and every header: the array must hold
    numbers or text and have exactly as many bytes as its shape implies, and compressed arrays must not exceed
    `LARGEST_COMPRESSED`.

    Args:
        file: an npz file.
        may_be_compressed: False refuses compressed arrays.

    Raises:
        ValueError: it is not a complete npz file of plain arrays.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            check_members(archive, LARGEST_COMPRESSED if may_be_compressed else 0)
            for member in archive.infolist():
                _check_member(archive, member)
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ArithmeticError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from error


def check_arrays(source: str, arrays: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Checks names, shapes and kinds of arrays, and that all their numbers are finite.

    Args:
        source: where they come from, which begins error messages.
        arrays: arrays to check, by name.
        expected: arrays with the required names and shapes, and dtypes to which the others can be cast.

    Raises:
        InputError: an array is missing or unknown, has another shape or kind, or is not finite.
    """
    for name in sorted(expected.keys() | arrays.keys()):
        there, here = (np.shape(group[name]) if name in group else "none" for group in (arrays, expected))
        if there != here:
            raise InputError(
                f"{source} is damaged, or of another network: {name} has shape {there} there, {here} here."
            )
        finite_array(f"{source} is damaged: {name}", arrays[name], expected[name].dtype)


def numeric_array(name: str, value: Any) -> Array:
    """Returns a user's numbers as an array.

    Args:
        name: name of the array, which begins error messages.
        value: array, or numbers that make one.

    Raises:
        InputError: they are not real numbers, or rows differ in length.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} cannot be an array: its rows differ in length.") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} is of type {array.dtype}; expected numbers.")
    return array


def finite_array(name: str, value: Any, dtype: DTypeLike) -> Array:
    """Returns a copy of an array with this dtype.

    Args:
        name: name of the array, which begins error messages.
        value: array, or numbers that make one.
        dtype: dtype of the copy.

    Raises:
        InputError: as for `numeric_array`; or the dtype cannot hold this kind of value, or a number is not finite in
            it.
    """
    array = numeric_array(name, value)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise InputError(f"{name} is of type {array.dtype}; expected numbers of type {np.dtype(dtype)}.")
    with np.errstate(over="ignore"):  # too large numbers become infinite
        array = array.astype(dtype)
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a number that is not finite; expected finite numbers of type {array.dtype}.")
    return array


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    with archive.open(member) as file:
        shape, dtype, header = _header(file)  # type: ignore[arg-type]
    if dtype.kind not in "biufcU":
        raise ValueError(f"{member.filename} holds {dtype}, neither numbers nor text")
    if math.prod(length or 1 for length in shape) > max(LARGEST_EMPTY, member.file_size):
        raise ValueError(f"{member.filename} holds an array of shape {str(shape)[:80]}, which is too large")
    if header + math.prod(shape) * dtype.itemsize != member.file_size:
        raise ValueError(f"{member.filename} does not hold an array of the shape {shape} that it announces")


def _header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except Exception as error:  # of any kind: numpy evaluates the text of the header and that of its dtype
        raise ValueError("a header cannot be read") from error
    return shape, dtype, file.tell()
