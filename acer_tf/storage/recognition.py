"""Recognizes the content of a file given in place of another, for the message that refuses it."""

import enum
import zipfile
from typing import BinaryIO

ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
GZIP, BZIP2 = b"\x1f\x8b", b"BZh"
LZMA = (b"\xfd7zXZ", b"\x5d\x00")
PICKLED = (b"\x80", *ZLIB, GZIP, BZIP2, *LZMA)
"""First bytes of a pickle, and of pickles compressed by joblib."""


class Content(enum.StrEnum):
    """The content of a file, and how to read it."""

    NOTHING = "It is empty."
    AGENT = "It is an agent that ACER.save or a command of this package wrote; ACER.load reads it."
    WEIGHTS = "It holds the weights of a model, as learn returns one; the model's method load reads it."
    STABLE_BASELINES = (
        "It is an agent of Stable Baselines 2; import it: ACER.import_stable_baselines, or the command acer convert."
    )
    STABLE_BASELINES3 = "It is an agent of Stable-Baselines3, which has no ACER."
    PICKLE = (
        "If Stable Baselines 2 or baselines wrote it, import it: ACER.import_stable_baselines, ACER.import_baselines, "
        "or the command acer convert."
    )


_MEMBERS = {
    "data.json": Content.AGENT,
    "parameter_list": Content.STABLE_BASELINES,
    "policy.pth": Content.STABLE_BASELINES3,
}


def hint(file: BinaryIO, *expected: Content) -> str:
    """Returns a space and a sentence on a file's content, or nothing if that is unknown or expected."""
    try:
        found = _content(file)
    except (ValueError, OSError, RuntimeError, zipfile.BadZipFile):
        return ""
    return "" if found is None or found in expected else f" {found}"


def _content(file: BinaryIO) -> Content | None:
    file.seek(0)
    start = file.read(max(map(len, PICKLED)))
    if not start:
        return Content.NOTHING
    if start.startswith(PICKLED):
        return Content.PICKLE
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    if any(name.startswith("param/") for name in names):
        return Content.WEIGHTS
    return next((content for name, content in _MEMBERS.items() if name in names), None)
