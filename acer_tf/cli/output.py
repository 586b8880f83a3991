"""Tables and files that commands print and write."""

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acer_tf.errors import InputError
from acer_tf.storage.durable import replace
from acer_tf.system.console import printable

UNLIMITED = 10_000
"""Columns of what is no terminal."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Guards the writing of a file.

    Raises:
        InputError: an `OSError` was raised inside.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another file.") from error


def require_free(path: Path) -> None:
    """Checks that a file does not exist yet.

    Raises:
        InputError: it exists.
    """
    if path.exists():
        raise InputError(f"{path} exists; choose another name.")


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Writes values as indented JSON.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        replace(path, json.dumps(values, indent=2).encode() + b"\n")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows of text under headers: in a terminal wrapped to its width, otherwise a line for each."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    rows = [[printable(cell) for cell in row] for row in rows]
    console = Console(width=None if sys.stdout.isatty() else UNLIMITED, highlight=False)
    table = Table(*(Column(header, overflow="fold") for header in headers), box=None, pad_edge=False)
    # Names stay whole where they can.
    table.columns[0].min_width = min(console.width // 2, max((len(row[0]) for row in rows), default=0))
    for row in rows:
        table.add_row(*map(escape, row))
    with console.capture() as text:
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().splitlines()))
