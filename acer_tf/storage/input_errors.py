"""Turns errors from reading a file of unknown content into an `InputError`."""

import contextlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from acer_tf.errors import InputError
from acer_tf.storage.durable import reading
from acer_tf.storage.paths import user_path
from acer_tf.storage.recognition import Content, hint

ERRORS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, OSError),
    *(RecursionError, TypeError, ValueError, lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)
"""Errors that Python and its libraries raise for a file that may hold anything."""


@contextlib.contextmanager
def as_input_error(path: str | Path, expected: str, *own: Content) -> Iterator[None]:
    """Turns any error from reading a file into an `InputError` that names the file and its expected content.

    Args:
        path: the file.
        expected: its expected content.
        own: kinds of content, besides pickles, for which the message gives no hint.
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
    if not path.is_file():  # a folder, a pipe or a device
        return ""
    try:
        with path.open("rb") as file:
            return hint(file, Content.PICKLE, *own)
    except OSError:
        return ""
