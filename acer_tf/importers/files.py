"""Reads files of unknown origin, and decompresses them within limits."""

import bz2
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acer_tf.storage import arrays
from acer_tf.storage.paths import user_path
from acer_tf.storage.recognition import BZIP2, GZIP, LZMA, ZLIB

LZMA_MEMORY = 2**28
_DECOMPRESSORS: dict[bytes, Callable[[], Any]] = {
    **dict.fromkeys(ZLIB, zlib.decompressobj),
    GZIP: lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    BZIP2: bz2.BZ2Decompressor,
    **dict.fromkeys(LZMA, lambda: lzma.LZMADecompressor(memlimit=LZMA_MEMORY)),
}
_UNKNOWN = {
    b"\x04\x22\x4d\x18": "it is compressed with lz4; load it, and save it again without compression",
    b"ZF": "it was written by a joblib older than 0.10; load it, and save it again with a newer one",
}


def read_decompressed(path: str | Path) -> bytes:
    """Returns the decompressed content of a file; raises the errors of `read_file` and `decompressed`."""
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
    """Decompresses what joblib compressed with zlib, gzip, bz2, xz or lzma; returns anything else unchanged.

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
