"""Rows of metrics on standard output: baselines' table, or one line for each row."""

import math
from collections.abc import Mapping
from numbers import Integral

from acer_tf.logs.logger import Sink
from acer_tf.logs.metrics import METRICS
from acer_tf.logs.recent import RecentEpisodes
from acer_tf.system.console import say

HEADER_EVERY = 20
"""Lines of the short table between two headers."""
_WIDTHS = {"steps": 11, "return": 9, "length": 8, "entropy": 9, "expl.var.": 11, "KL": 10, "steps/s": 9, "replay": 11}
_OF_REPLAY = {name for name in METRICS if name.startswith("replay_")}


class TableSink(Sink):
    """Prints each row of metrics as baselines' logger does; metrics of replay are left to the files."""

    def write(self, values: Mapping[str, float]) -> None:
        """Prints one table."""
        say(table({name: value for name, value in values.items() if name not in _OF_REPLAY}))


class ShortTableSink(RecentEpisodes):
    """Prints each row as one line with its most important numbers, and a header every `HEADER_EVERY` lines.

    Recorded numbers of one's own come last.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines = 0
        self._own: list[str] = []

    def write(self, values: Mapping[str, float]) -> None:
        """Prints one line; return and length are those of the last 100 whole episodes."""
        own = [name for name in values if name not in METRICS]
        widths = _WIDTHS | {name: max(9, len(name) + 2) for name in own}
        if self._lines % HEADER_EVERY == 0 or own != self._own:
            say("".join(f"{name:>{width}}" for name, width in widths.items()))
            self._lines, self._own = 0, own
        self._lines += 1
        numbers = {
            "steps": values["total_timesteps"],
            "return": self.mean_return,
            "length": self.mean_length,
            "entropy": values["entropy"],
            "expl.var.": values["explained_variance"],
            "KL": values.get("average_kl", math.nan),
            "steps/s": values["recent_fps"] or math.nan,  # the first row has no steps before it
            "replay": values["replay_size"],
            **{name: values[name] for name in own},
        }
        say("".join(f"{short(number):>{widths[name]}}" for name, number in numbers.items()))


def table_sinks(verbose: int) -> list[Sink]:
    """Returns what prints rows of metrics: nothing for 0, the short table for 1, baselines' for 2."""
    if verbose == 0:
        return []
    return [ShortTableSink() if verbose == 1 else TableSink()]


def table(values: Mapping[str, float]) -> str:
    """Returns metrics as a two-column table in their own order; whole numbers are shown in full."""
    cells = {name: f"{value:d}" if isinstance(value, Integral) else f"{value:z.3g}" for name, value in values.items()}
    name_width = max(map(len, cells), default=0)
    cell_width = max(map(len, cells.values()), default=0)
    rule = "-" * (name_width + cell_width + 7)
    rows = [f"| {name:{name_width}} | {cell:{cell_width}} |" for name, cell in cells.items()]
    return "\n".join([rule, *rows, rule])


def short(number: float) -> str:
    """Formats a number with three digits, or with all before the point; `-` stands for nan."""
    if math.isnan(number):
        return "-"
    return f"{number:z,.0f}" if abs(number) >= 100 else f"{number:z.3g}"
