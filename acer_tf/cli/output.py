"""Tables that commands print."""

import sys
from collections.abc import Iterable, Sequence

from acer_tf.system.console import printable

UNLIMITED = 10_000
"""Columns of output that is not a terminal."""


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows of text under headers: in a terminal wrapped to its width, otherwise one line per row."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    rows = [[printable(cell) for cell in row] for row in rows]
    console = Console(width=None if sys.stdout.isatty() else UNLIMITED, highlight=False)
    table = Table(*(Column(header, overflow="fold") for header in headers), box=None, pad_edge=False)
    # Names are not wrapped if there is room.
    table.columns[0].min_width = min(console.width // 2, max((len(row[0]) for row in rows), default=0))
    for row in rows:
        table.add_row(*map(escape, row))
    with console.capture() as text:
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().splitlines()))
