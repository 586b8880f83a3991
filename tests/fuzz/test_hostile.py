"""Hostile files by hand, each with the sentence that a reader has for it."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from tests.fuzz.guard import BrokenBoundError, bounded
from tests.fuzz.readers import READERS
from tests.fuzz.test_readers import valid, write

HUGE = "a" * 200_000
MOST_FILES = 8
"""Files of a reader that are replaced in a test."""
MANY = b"\n".join([b"b0: &b0 [x, x]", *(b"b%d: &b%d [%s]" % (i, i, b"*b%d, " % (i - 1) * 10) for i in range(1, 13))])


def npz(header: str) -> bytes:
    """An array whose header is this text."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    return file.getvalue()


def shaped(shape: str, dtype: str = "<f4") -> bytes:
    return npz(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n")


CASES = [
    ("presets", "preset.yml", b"lr: 1:10" + b":10" * 200_000, "lr is '1:10:10.*; expected"),
    ("presets", "preset.yml", b"lr: 0x" + b"f" * 5000, "a number has 5002 characters"),
    ("presets", "preset.yml", b"lr: !!timestamp x", "is not valid YAML"),
    ("presets", "preset.yml", MANY, "it holds more than 10,000 values"),
    ("logs of a report", "config.yml", MANY, "it holds more than 10,000 values"),
    ("search spaces", "space.yml", b"lr: {low: 1e-4, high: " + b"9" * 5000 + b"}", "a number has 5000 characters"),
    ("logs of a report", "episodes.csv", f"steps,return\n1,{HUGE}\n".encode(), "field larger than field limit"),
    ("tables of sweeps", "sweep.csv", f"folder\n{HUGE}\n".encode(), "cannot be read .*field larger than field limit"),
    ("results", "seeds.csv", HUGE.encode(), "cannot be read .*field larger than field limit"),
    ("monitor files as references", "monitor.csv", b"r,l,t\n1,-5,1\n", "has episodes of -5 steps in all"),
    ("monitor files as references", "monitor.csv", b"r,l,t\n1,inf,1\n", "has episodes of inf steps in all"),
    ("journals of searches", "search.journal", b"garbage\n", r"line 1 of .*search\.journal is damaged"),
    (
        "reports of evaluate",
        "report.json",
        b'{"env": "A-v0", "fingerprint": "0a", "mean": 1' + b"0" * 400 + b', "std": 1}',
        "mean is .*; expected a number",
    ),
    ("reports of evaluate", "report.json", b"[" * 100_000, "is not what"),
    ("arrays of a model", "model.npz", shaped(f"({2**70}, 0)"), "is not a readable npz file"),
    ("arrays of a model", "model.npz", shaped(f"({2**24}, 0)"), "is not a readable npz file|damaged"),
    ("arrays of a model", "model.npz", shaped("(1,)", f"<U{2**29}"), "is not a readable npz file"),
    ("arrays of a model", "model.npz", shaped("(1,)", ","), "a header cannot be read"),
    ("arrays of a model", "model.npz", npz("9" * 60_000), "is not a readable npz file"),
    ("arrays of a model", "model.npz", npz("(" * 60_000), "is not a readable npz file"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "path", "content", "message"), CASES, ids=[case[0] for case in CASES])
def test_one_sentence(reader: str, path: str, content: bytes, message: str, tmp_path: Path) -> None:
    write(tmp_path, {**valid(reader), path: content})
    with pytest.raises(InputError, match=message) as error, bounded(tmp_path):
        READERS[reader].read(tmp_path)
    assert str(tmp_path) in str(error.value) and len(str(error.value)) < 1000


@pytest.mark.parametrize("reader", READERS.keys())
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to /dev/zero"])
def test_what_is_no_file_is_not_read(reader: str, kind: str, tmp_path: Path) -> None:
    """It is refused, or taken for missing; nothing waits for a pipe or reads without end."""
    files, fuzzed = valid(reader), READERS[reader].fuzzed
    one_of_each_kind = {Path(path).suffix: path for path in files if path.startswith(fuzzed)}
    for path in one_of_each_kind.values():
        folder = tmp_path / path.replace("/", "-")
        write(folder, {path: b""} if READERS[reader].is_alone else files)
        (folder / path).unlink()
        if kind == "a folder":
            (folder / path).mkdir()
        elif kind == "a pipe":
            os.mkfifo(folder / path)
        else:
            (folder / path).symlink_to("/dev/zero")
        try:
            with bounded(folder):
                READERS[reader].read(folder)
        except InputError as error:
            assert str(folder) in str(error)


def nested(path: str) -> bytes:
    """Lists in lists, in the format of the file."""
    depth = 50_000
    if path.endswith((".pkl", ".joblib")):
        return b"]" * depth + b"a" * (depth - 1) + b"."
    text = b"[" * depth + b"]" * depth
    if not path.endswith((".zip", ".npz")):
        return text if path.endswith((".json", ".jsonl", ".lease", ".journal")) else b"a: " + text
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("data.json", "data", "parameter_list", "a.npy"):
            archive.writestr(name, text)
    return file.getvalue()


MISTAKES: dict[str, Callable[[str, bytes], bytes]] = {
    "empty": lambda path, content: b"",
    "cut": lambda path, content: content[: len(content) // 2],
    "a web page": lambda path, content: b"<!DOCTYPE html>\n<html><head><title>404: Not Found</title></head></html>\n",
    "nested": lambda path, content: nested(path),
}
"""What is in a file by mistake or on purpose, given its path and its proper content."""


@pytest.mark.parametrize("reader", READERS.keys())
@pytest.mark.parametrize("kind", MISTAKES)
def test_what_is_another_file_is_one_sentence_or_does_not_matter(reader: str, kind: str, tmp_path: Path) -> None:
    files, fuzzed = valid(reader), READERS[reader].fuzzed
    one_of_each_name = {Path(path).name: path for path in files if path.startswith(fuzzed)}
    for path in list(one_of_each_name.values())[:MOST_FILES]:
        folder, content = tmp_path / path.replace("/", "-"), MISTAKES[kind](path, files[path])
        write(folder, {path: content} if READERS[reader].is_alone else {**files, path: content})
        READERS[reader].seal(folder)
        try:
            with bounded(folder):
                READERS[reader].read(folder)
        except InputError as error:
            assert str(folder) in str(error) and "\n" not in str(error)


def test_the_bounds_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(BrokenBoundError, match="more than 512 MiB"), bounded(tmp_path):
        np.ones(2**28)
    with pytest.raises(BrokenBoundError, match="outside"), bounded(tmp_path / "in"):
        (tmp_path / "outside").write_text("x")
    with pytest.raises(BrokenBoundError, match=r"os\.system"), bounded(tmp_path):
        os.system("true")
    with pytest.raises(BrokenBoundError, match="evil"), bounded(tmp_path), pytest.raises(ImportError):
        __import__("evil_module")
    with bounded(tmp_path):
        (tmp_path / "inside").write_text("x")
