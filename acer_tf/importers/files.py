"""Reads files of unknown origin: decompresses them within limits, and reports errors as an `InputError`."""

import bz2
import contextlib
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from acer_tf.errors import InputError
from acer_tf.storage import arrays
from acer_tf.storage.durable import reading
from acer_tf.storage.paths import user_path
from acer_tf.storage.recognition import BZIP2, GZIP, LZMA, ZLIB, Content, hint

LZMA_MEMORY = 2**28
_DECOMPRESSORS: dict[bytes, Callable[[], Any]] = {
    **dict.fromkeys(ZLIB, zlib.decompressobj),
    GZIP: lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    BZIP2: bz2.BZ2Decompressor,
    **dict.fromkeys(LZMA, lambda: lzma.LZMADecompressor(memlimit=LZMA_MEMORY)),
}
ERRORS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, OSError),
    *(RecursionError, TypeError, ValueError, lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)
"""Whatever Python and its libraries raise of a file that may hold anything; no other error of the run."""
_UNKNOWN = {
    b"\x04\x22\x4d\x18": "it is compressed with lz4; load it, and save it again without compression",
    b"ZF": "it was written by a joblib older than 0.10; load it, and save it again with a newer one",
}


@contextlib.contextmanager
def as_input_error(path: str | Path, expected: str, *own: Content) -> Iterator[None]:
    """Turns any error of reading a file into an `InputError` that names the file, and what it should hold.

    Args:
        path: of the file.
        expected: what it should hold.
        own: kinds of content, besides pickles, of which nothing more is said.
    """
    file = user_path(path)
    with reading(file):
        if not file.exists():
            raise InputError(f"{path} does not exist; expected {expected}.")
    try:
        yield
    except ERRORS as error:
        raise InputError(f"{path} does not hold {expected} ({error!s:.200}).{_hint(file, *own)}") from error


def _hint(path: Path, *own: Content) -> str:
    if not path.is_file():  # but a folder, a pipe or a device
        return ""
    try:
        with path.open("rb") as file:
            return hint(file, Content.PICKLE, *own)
    except OSError:
        return ""


def read_decompressed(path: str | Path) -> bytes:
    """Returns the `decompressed` content of a file, which raises as `read_file` does, too."""
    return decompressed(read_file(path))


def read_file(path: str | Path) -> bytes:
    """Returns the content of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a regular file.
    """
    file = user_path(path)
    if not file.is_file():
        raise ValueError("it is not a file")
    return file.read_bytes()


def decompressed(data: bytes) -> bytes:
    """Decompresses what joblib compressed with zlib, gzip, bz2, xz or lzma; returns anything else as it is.

    Raises:
        ValueError: compressed data is damaged or of another kind, or would unpack to more than
            `arrays.LARGEST_COMPRESSED` bytes.
    """
    for start, message in _UNKNOWN.items():
        if data.startswith(start):
            raise ValueError(message)
    for start, decompressor in _DECOMPRESSORS.items():
        if data.startswith(start):
            return _decompressed(decompressor(), data)
    return data


def _decompressed(decompressor: Any, data: bytes) -> bytes:
    limit = arrays.LARGEST_COMPRESSED
    try:
        unpacked: bytes = decompressor.decompress(data, limit + 1)
    except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(str(error)) from error
    if len(unpacked) > limit:
        raise ValueError(f"it would unpack to more than {limit / 2**30:.1f} GiB")
    if not decompressor.eof:
        raise ValueError("it ends too early")
    return unpacked
