"""The file of a trained agent: a zip of `data.json` and one npz file for each group of arrays, all uncompressed.

`model.npz` is the file that `Model.save` writes. The same agent always yields the same bytes.
"""

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError, type_in_words
from acer_tf.storage.arrays import read_arrays
from acer_tf.storage.durable import reading, replace
from acer_tf.storage.paths import check_name, user_path
from acer_tf.storage.recognition import Content, hint
from acer_tf.storage.zip_files import check_members

FORMAT = 2
FORMAT_1_PREFIXES = {"parameters": "param/", "average": "average/", "optimizer": ""}
"""The groups of format 1 (version 0.1.0) that now form `model`, and the prefixes that their names lack there."""
DATA = "data.json"
LARGEST_DATA = 2**26
"""Most bytes of `data.json`."""
SUFFIX = ".zip"

Arrays = dict[str, NDArray[Any]]
File = str | Path | BinaryIO


def write_agent(target: File, data: Mapping[str, Any], groups: Mapping[str, Arrays]) -> None:
    """Writes an agent; an old file is replaced in one step or not at all.

    Args:
        target: a path, to which .zip is added if it has no ending, or a file open for writing.
        data: plain values.
        groups: arrays by name, in groups by name.

    Raises:
        InputError: the target is neither.
        OSError: it cannot be written.
    """
    if isinstance(target, str | os.PathLike):
        replace(with_suffix(target), _packed(data, groups))
    elif hasattr(target, "write"):
        target.write(_packed(data, groups))
    else:
        raise InputError(f"it is {type_in_words(target)}; expected a path, or a file open for writing.")


def read_agent(source: File) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Reads what `write_agent` wrote; the ending .zip may be left out.

    Nothing in it may be compressed, and every array must have exactly as many bytes as its shape implies.

    Raises:
        InputError: there is no such file, or it is not the complete file of an agent.
    """
    name = file_name(source)
    if not isinstance(source, str | os.PathLike):
        if not hasattr(source, "read"):
            raise InputError(f"it is {type_in_words(source)}; expected a path, or a file open for reading.")
        return _read(source, name)
    path = user_path(source)
    with reading(path):
        path = path if path.is_file() else with_suffix(path)
        if not path.is_file():
            raise InputError(f"{name} is not a file; expected the file of a trained agent.")
        with path.open("rb") as file:
            return _read(file, name)


def file_name(source: File) -> str:
    """Returns the name of a file for messages."""
    return str(source) if isinstance(source, str | os.PathLike) else "the file"


def with_suffix(path: str | os.PathLike[str]) -> Path:
    """Returns the path to write, with .zip added if it has no ending."""
    path = user_path(path)
    check_name(path)
    return path if path.suffix else path.with_name(path.name + SUFFIX)


def _packed(data: Mapping[str, Any], groups: Mapping[str, Arrays]) -> bytes:
    content = io.BytesIO()
    text = json.dumps({"format": FORMAT, **data}, indent=1, sort_keys=True, allow_nan=False) + "\n"
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo(DATA), text)  # ZipInfo: the same date for all
        for group, arrays in groups.items():
            npz = io.BytesIO()
            np.savez(npz, **arrays)  # type: ignore[arg-type]
            archive.writestr(zipfile.ZipInfo(f"{group}.npz"), npz.getvalue())
    return content.getvalue()


def _read(file: BinaryIO, name: str) -> tuple[dict[str, Any], dict[str, Arrays]]:
    try:
        with zipfile.ZipFile(file) as archive:
            check_members(archive, largest_unpacked=0)
            if archive.getinfo(DATA).file_size > LARGEST_DATA:
                raise ValueError(f"{DATA} has more than {LARGEST_DATA / 2**20:.0f} MiB")
            data = json.loads(archive.read(DATA))
            found = data.pop("format", None) if isinstance(data, dict) else None
            if found not in (1, FORMAT):
                raise ValueError(f"its format is neither 1 nor {FORMAT}")
            members = [member for member in archive.namelist() if member != DATA]
            groups = {Path(member).stem: _arrays_of(archive, member) for member in members}
            return data, _from_format_1(groups) if found == 1 else groups
    except (ValueError, KeyError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        known = hint(file, Content.AGENT)
        raise InputError(
            f"{name} is not the file of a trained agent, or is incomplete ({error!s:.200}).{known}"
        ) from error


def _arrays_of(archive: zipfile.ZipFile, member: str) -> Arrays:
    return read_arrays(io.BytesIO(archive.read(member)), may_be_compressed=False)


def _from_format_1(groups: dict[str, Arrays]) -> dict[str, Arrays]:
    """Joins parameters, averages and slots, once separate files, under the names of `Model.state_dict`."""
    model = {
        f"{prefix}{name}": array for group, prefix in FORMAT_1_PREFIXES.items() for name, array in groups[group].items()
    }
    return {"model": model} | {name: arrays for name, arrays in groups.items() if name not in FORMAT_1_PREFIXES}
