"""Mutations of files: of their bytes, and of the structure that zip, JSON, YAML, CSV and pickle give them."""

import contextlib
import functools
import io
import json
import pickletools
import re
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import yaml

Mutation = Callable[[bytes, Random], bytes]

VALUES = (
    None, True, -1, 0, 2, 2**31, 2**63, 2**70, -(2**70), 10**400, 0.5, -0.5, 1e308, -1e308, 1e999, -1e999,
    float("nan"), 5e-324, "", "x", "\ud800", "\x1b[31m\x07", "\x00", "a" * 5000, "1e999", "nan", "../../outside",
    "/dev/zero", "<f8", "evil:Env-v0", "evil.module", [], {}, [[]], [1, [2, [3]]], {"x": {"y": 1}},
    {"module": "builtins", "class_name": "x"},
)  # fmt: skip
"""Values that stand where others are due."""
CELLS = (
    "", "x", "nan", "-inf", "1e308", "-1e308", "1e999", "9" * 400, "9" * 5000, "-1", "0", "1.5", "a" * 200_000, '"',
    '"\n"', "\x00", "\x1b[31m", "[1, 2]", "{}", "null", "true", "\ufeff", "[" * 5000, "é",
)  # fmt: skip
YAML = (
    "!!python/object/apply:os.mkdir ['trace']", "!!python/name:os.system ", "&a [1, 2]", "*a", "1:10" + ":10" * 3000,
    "0x" + "f" * 5000, "9" * 5000, "1e999", ".nan", "-.inf", "2026-99-99", "!!binary x", "!!timestamp x", "!!int x",
    "!!set {a}", "!!omap [a: 1]", "{? [a]: b}", "{<<: [1]}", "'", "{", "[" * 500, "- ", "? ", "|\n  x", "\t",
    "\x1b[31m", "~", "{a: 1, a: 2}",
)  # fmt: skip
HEADERS = (
    f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({2**70}, 0), }}",
    f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({2**40},), }}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    f"{{'descr': '<U{2**29}', 'fortran_order': False, 'shape': (1,), }}",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f4', 'fortran_order': 3, 'shape': 'x', }",
    "(" * 300,
    "9" * 5000,
    "\x00",
)
"""Of arrays in npy files."""
OPCODES = (
    b"\x80\x09", b"\x95" + b"\xff" * 8, b"c__builtin__\neval\n", b"cnumpy\nndarray\n", b"R", b"b", b"o", b"0", b"(",
    b"t", b"e", b"u", b"s", b"a", b"2", b"1", b"\x85", b"\x86", b"\x87", b"\x94", b"h\xff", b"q\x00", b"Q", b"P1\n",
    b"\x82\x01", b"}", b"]", b")", b"N", b"\x8f", b"\x90", b"\x91", b"\x92", b"\x81", b"\x93",
    b"I" + b"9" * 5000 + b"\n", b"L" + b"9" * 5000 + b"L\n", b"F1e999\n", b"K\x00", b"J\xff\xff\xff\xff",
    b"\x8b\xff\xff\xff\x7f", b"\x8d" + b"\xff" * 8, b"X\x01\x00\x00\x00\xff", b"V\\ud800\n", b"2\x86" * 40, b"2a" * 3,
    b"2\x85b",
)  # fmt: skip
"""Of pickles, some of them repeated until what they make is large."""


def mutated(content: bytes, draw: Random) -> bytes:
    """Changes a file one to four times, in what its format is made of or in any of its bytes."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        mutation = _structured(content)
        content = (mutation if mutation is not None and draw.random() < 0.75 else of_bytes)(content, draw)
    return content


def _structured(content: bytes) -> Mutation | None:
    if content.startswith(b"PK"):
        return of_zip
    if content.startswith(b"\x93NUMPY"):
        return of_npy
    if content.startswith((b"\x80", b"(")):
        return of_pickle
    if content.startswith((b"{", b"[")):
        return of_json
    return of_text


def of_bytes(content: bytes, draw: Random) -> bytes:
    """Changes any bytes."""
    begin, end = sorted((draw.randrange(len(content) + 1), draw.randrange(len(content) + 1)))
    match draw.randrange(9):
        case 0 | 1 if content:
            at = draw.randrange(len(content))
            return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
        case 2:
            return content[:begin]
        case 3:
            return content[:begin] + content[end:]
        case 4:
            return content[:end] + content[begin:]
        case 5:
            return content[:begin] + bytes(end - begin) + content[end:]
        case 6:
            size = draw.choice((1, 2, 4, 8))
            return content[:begin] + draw.choice((b"\xff", b"\x00", b"\x7f")) * size + content[begin + size :]
        case 7:
            numbers = list(re.finditer(rb"\d+", content[: 2**16]))
            if numbers:
                found = draw.choice(numbers)
                number = str(draw.choice((0, 2**31, 2**63, 10**30, 10**400))).encode()
                return content[: found.start()] + number + content[found.end() :]
    return content + draw.choice((b"\x00", b"\n", b"PK\x05\x06", b"x" * 1000))


def of_json(content: bytes, draw: Random) -> bytes:
    """Changes a value or a name."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.dumps(_changed(json.loads(content), draw), indent=draw.choice((None, 1))).encode()
    return of_bytes(content, draw)


def of_yaml(content: bytes, draw: Random) -> bytes:
    """Changes a value or a name, or writes one as only YAML can."""
    if draw.random() < 0.5:
        with contextlib.suppress(Exception):  # it is damaged already
            settings = yaml.safe_load(content)
            return yaml.safe_dump(_changed(settings, draw), sort_keys=False).encode()
    lines = content.decode(errors="replace").splitlines()
    at = draw.randrange(len(lines) + 1)
    head = lines[at].partition(":")[0] if at < len(lines) else "more"
    lines[at : at + 1] = [f"{head}: {draw.choice(YAML)}"]
    if draw.random() < 0.1:  # twelve levels of aliases, each of ten
        levels = [f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 10)}]" for i in range(1, 13)]
        lines += ["b0: &b0 [x, x]", *levels]
    return "\n".join([*lines, ""]).encode(errors="replace")


def of_csv(content: bytes, draw: Random) -> bytes:
    """Changes a cell or a row."""
    rows = [line.split(",") for line in content.decode(errors="replace").splitlines()] or [[""]]
    at = draw.randrange(len(rows))
    column = draw.randrange(len(rows[at]))
    match draw.randrange(7):
        case 0 | 1 | 2:
            rows[at][column] = draw.choice(CELLS)
        case 3:
            del rows[at][column]
        case 4:
            rows[at].insert(column, draw.choice(CELLS))
        case 5:
            del rows[at]
        case 6:
            rows.insert(draw.randrange(len(rows)), rows[at])
    return "\n".join([*map(",".join, rows), ""]).encode()


def of_text(content: bytes, draw: Random) -> bytes:
    """Changes lines of YAML or CSV, whichever it looks like."""
    first = next((line for line in content.splitlines() if not line.startswith(b"#")), b"")
    return (of_csv if b"," in first and b":" not in first else of_yaml)(content, draw)


def of_npy(content: bytes, draw: Random) -> bytes:
    """Replaces the header, or the array by another one."""
    if draw.random() < 0.5:
        header = draw.choice(HEADERS).encode()
        return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content[128:]
    kinds = [
        np.full(3, np.nan),
        np.zeros((0, 5)),
        np.float32(1),
        np.array(["x" * 99]),
        np.zeros(9, complex),
        np.arange(4),
    ]
    file = io.BytesIO()
    np.save(file, draw.choice(kinds))
    return file.getvalue()


def of_zip(content: bytes, draw: Random) -> bytes:
    """Changes a member or its name, leaves one out or has one twice, or compresses all."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
            at = draw.randrange(len(members))
    except Exception:  # it is damaged already
        return of_bytes(content, draw)
    name, member = members[at]
    method = zipfile.ZIP_STORED
    match draw.randrange(12):
        case 0:
            del members[at]
        case 1:
            names = ("../outside.npy", "/tmp/outside", "", "x" * 70_000, "a/b/c.npy", "\x1b[31m.npy", name.upper())
            members[at] = draw.choice(names)[:60_000], member
        case 2:
            members.append(draw.choice(members))
        case 3:
            members[at] = name, draw.choice(members)[1]
        case 4:
            method = draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        case 5:
            members[at], method = (name, _bomb()), zipfile.ZIP_DEFLATED
        case 6:
            return of_bytes(content, draw)
        case _:
            members[at] = name, mutated(member, draw)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings(action="ignore"):  # a name that occurs twice
        for name, member in members:
            archive.writestr(zipfile.ZipInfo(name), member, method)
    return file.getvalue()


def of_pickle(content: bytes, draw: Random) -> bytes:
    """Leaves opcodes out, has them twice, puts others between them, or exchanges two."""
    begins = [0]
    with contextlib.suppress(Exception):  # arrays of joblib stand between the opcodes
        begins += [position for _, _, position in pickletools.genops(content) if position]
    first, second = sorted((draw.choice(begins), draw.choice(begins)))
    match draw.randrange(5):
        case 0:
            return content[:first] + content[second:]
        case 1:
            return content[:second] + content[first:]
        case 2:
            return content[:first] + draw.choice(OPCODES) * draw.choice((1, 1, 1, 30)) + content[second:]
        case 3:
            return content[:first] + draw.choice(OPCODES) * draw.choice((1, 1, 1, 1000)) + content[first:]
    return of_bytes(content, draw)


@functools.cache
def _bomb() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(2**24, np.uint8))
    return file.getvalue()


def _changed(value: Any, draw: Random) -> Any:
    """Returns plain values with a change somewhere in them."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        return _changed_mapping(value, draw)
    if isinstance(value, list) and value and draw.random() < 0.8:
        return _changed_list(value, draw)
    match draw.randrange(12):
        case 0:
            return [value] * draw.choice((1, 2, 100))
        case 1:
            return functools.reduce(lambda inner, _: [inner], range(draw.choice((5, 40, 400))), value)
        case 2:
            return {"x": value}
    if isinstance(value, int | float) and draw.random() < 0.4:
        with contextlib.suppress(OverflowError):
            return draw.choice((-value, value + 1, value * 1000, value / 3, value * 10**9))
    return draw.choice(VALUES)


def _changed_mapping(mapping: dict[str, Any], draw: Random) -> dict[str, Any]:
    key, other = draw.choice(list(mapping)), draw.choice(list(mapping))
    match draw.randrange(12):
        case 0:
            return {name: value for name, value in mapping.items() if name != key}
        case 1:
            return {draw.choice(("x", "", "\ud800")) if name == key else name: v for name, v in mapping.items()}
        case 2:
            return mapping | {draw.choice(("x", "seed", "env", "lr", "policy_kwargs")): draw.choice(VALUES)}
        case 3:
            return mapping | {key: mapping[other]}
    return mapping | {key: _changed(mapping[key], draw)}


def _changed_list(items: list[Any], draw: Random) -> list[Any]:
    at = draw.randrange(len(items))
    match draw.randrange(6):
        case 0:
            return items[:at] + items[at + 1 :]
        case 1:
            return items + items[at:]
    return [*items[:at], _changed(items[at], draw), *items[at + 1 :]]
