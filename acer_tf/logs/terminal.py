"""Prints a run on the terminal: rows of metrics on standard output, progress on standard error."""

import datetime
import math
import statistics
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TextIO

from rich.console import Console
from rich.filesize import pick_unit_and_suffix
from rich.progress import BarColumn, Progress, TextColumn

from acer_tf.errors import is_installed
from acer_tf.logs.logger import Sink
from acer_tf.logs.metrics import LAST_EPISODES, METRICS
from acer_tf.segment import Episode
from acer_tf.system.console import say

HEADER_EVERY = 20
"""Lines of the short table between headers."""
_WIDTHS = {"steps": 11, "return": 9, "length": 8, "entropy": 9, "expl.var.": 11, "KL": 10, "steps/s": 9, "replay": 11}
_OF_REPLAY = {name for name in METRICS if name.startswith("replay_")}
LONGEST = 10**10
"""Longest remaining time to show, in seconds: 317 years."""
LINE_INTERVAL = 30.0
"""Seconds between two progress lines without a bar."""
BAR_WIDTHS = (8, 40)
"""Smallest and largest width of the bar itself, in characters."""
LEAST_IMPORTANT = ("replay", "speed", "steps", "return", "left")
"""Parts that a narrow bar leaves out, the first ones first."""


class RecentEpisodes(Sink):
    """Keeps the last 100 whole episodes; subclasses show their means, nan before the first."""

    def __init__(self) -> None:
        self._recent: deque[Episode] = deque(maxlen=LAST_EPISODES)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Adds episodes."""
        self._recent.extend(episodes)

    @property
    def mean_return(self) -> float:
        """Mean raw return."""
        return statistics.fmean(episode.r for episode in self._recent) if self._recent else math.nan

    @property
    def mean_length(self) -> float:
        """Mean length in agent steps."""
        return statistics.fmean(episode.l for episode in self._recent) if self._recent else math.nan


class TableSink(Sink):
    """Prints each row of metrics like baselines' logger; metrics of replay appear only in files."""

    def write(self, values: Mapping[str, float]) -> None:
        """Prints one table."""
        say(table({name: value for name, value in values.items() if name not in _OF_REPLAY}))


class ShortTableSink(RecentEpisodes):
    """Prints each row as one line with the main numbers, and a header every `HEADER_EVERY` lines.

    Users' recorded numbers come last.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines = 0
        self._own: list[str] = []

    def write(self, values: Mapping[str, float]) -> None:
        """Prints one line; return and length are those of the last 100 whole episodes."""
        own = [name for name in values if name not in METRICS]
        columns = [*_WIDTHS.items(), *((name, max(9, len(name) + 2)) for name in own)]
        if self._lines % HEADER_EVERY == 0 or own != self._own:
            say("".join(f"{name:>{width}}" for name, width in columns))
            self._lines, self._own = 0, own
        self._lines += 1
        numbers = [
            values["total_timesteps"],
            self.mean_return,
            self.mean_length,
            values["entropy"],
            values["explained_variance"],
            values.get("average_kl", math.nan),
            values["recent_fps"] or math.nan,  # the first row has no steps before it
            values["replay_size"],
            *(values[name] for name in own),
        ]
        say("".join(f"{short(number):>{width}}" for number, (_, width) in zip(numbers, columns, strict=True)))


def table_sinks(verbose: int) -> list[Sink]:
    """Returns the sinks that print rows of metrics: none for 0, the short table for 1, baselines' for 2."""
    if verbose == 0:
        return []
    return [ShortTableSink() if verbose == 1 else TableSink()]


def table(values: Mapping[str, float]) -> str:
    """Returns metrics as a two-column table in their order, with whole numbers in full."""
    cells = {name: f"{value:d}" if isinstance(value, Integral) else f"{value:z.3g}" for name, value in values.items()}
    name_width = max(map(len, cells), default=0)
    cell_width = max(map(len, cells.values()), default=0)
    rule = "-" * (name_width + cell_width + 7)
    rows = [f"| {name:{name_width}} | {cell:{cell_width}} |" for name, cell in cells.items()]
    return "\n".join([rule, *rows, rule])


def short(number: float) -> str:
    """Formats a number with three digits, or with all digits before the point; `-` means nan."""
    if math.isnan(number):
        return "-"
    return f"{number:z,.0f}" if abs(number) >= 100 else f"{number:z.3g}"


class ProgressSink(RecentEpisodes):
    """Tracks agent steps, speed and returns; subclasses display them."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        """Starts measuring speed; for the arguments, see `progress_sink`."""
        super().__init__()
        self._total = total_steps
        self._replay_steps = replay_steps
        self._iterations: deque[tuple[float, int]] = deque(maxlen=100)

    def progress(self, steps: int) -> None:
        """Shows the progress after an iteration, with the speed over the last 100 iterations."""
        self._iterations.append((time.monotonic(), steps))
        self.show(steps, self._texts())

    def show(self, steps: int, texts: dict[str, str]) -> None:
        """Shows the agent steps so far, and texts that describe them."""
        raise NotImplementedError

    def _texts(self) -> dict[str, str]:
        (first_time, first_steps), (last_time, steps) = self._iterations[0], self._iterations[-1]
        texts = {
            "percent": f"{min(1.0, steps / self._total):.1%}",
            "steps": f"{compact(steps)}/{compact(self._total)} steps",
        }
        if steps > first_steps and last_time > first_time:
            speed = (steps - first_steps) / (last_time - first_time)
            left = datetime.timedelta(seconds=min(math.ceil(max(0, self._total - steps) / speed), LONGEST))
            texts |= {"speed": f"{speed:,.0f} steps/s", "left": f"{left} left"}
        if not math.isnan(self.mean_return):
            texts["return"] = f"return {self.mean_return:z.1f}"
        if self._replay_steps:
            texts["replay"] = f"replay {min(1.0, steps / self._replay_steps):.0%}"
        return texts


class LineSink(ProgressSink):
    """Prints a line on standard error, at most one every `LINE_INTERVAL` seconds."""

    _next_line = -math.inf

    def show(self, steps: int, texts: dict[str, str]) -> None:
        """Prints the texts, unless the last line is less than `LINE_INTERVAL` seconds old."""
        if time.monotonic() >= self._next_line:
            say("  ".join(texts.values()), is_error=True)
            self._next_line = time.monotonic() + LINE_INTERVAL


class BarSink(ProgressSink):
    """Draws a progress bar as wide as the terminal; standard error must be one, or a notebook."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        super().__init__(total_steps, replay_steps)
        self._column = BarColumn()
        self._bar = Progress(
            self._column,
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            refresh_per_second=2,
            # Output to the same terminal appears above the bar; piped output stays piped.
            redirect_stdout=_is_terminal(sys.stdout),
        )
        self._task = self._bar.add_task("", total=total_steps)

    def show(self, steps: int, texts: dict[str, str]) -> None:
        """Moves the bar; the first call draws it."""
        smallest, largest = BAR_WIDTHS
        text = fitting(texts, self._bar.console.width - smallest - 1)
        self._column.bar_width = min(largest, max(smallest, self._bar.console.width - len(text) - 1))
        self._bar.start()
        self._bar.update(self._task, completed=steps, description=text)

    def close(self) -> None:
        """Stops drawing and restores the cursor; may be called again."""
        self._bar.refresh()  # in a notebook, stopping does not draw the last state
        self._bar.stop()


def progress_sink(total_steps: int, replay_steps: int = 0) -> ProgressSink:
    """Returns a bar if standard error is a terminal or a notebook with ipywidgets, else a sink that prints lines.

    Both show steps, speed, time left, the mean return of 100 episodes, and how full replay is.

    Args:
        total_steps: agent steps of the complete run.
        replay_steps: agent steps in a full replay, over all environments; 0 without replay.
    """
    is_live = Console().is_jupyter and is_installed("ipywidgets")
    return (BarSink if is_live or _is_terminal(sys.stderr) else LineSink)(total_steps, replay_steps)


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; the stream is None in a process without streams, such as a service."""
    return stream is not None and not stream.closed and stream.isatty()


def fitting(texts: dict[str, str], width: int) -> str:
    """Joins texts, leaving out the least important ones if they are longer than `width`."""
    texts = dict(texts)
    for name in LEAST_IMPORTANT:
        if len("  ".join(texts.values())) > width:
            texts.pop(name, None)
    return "  ".join(texts.values())


def compact(number: int) -> str:
    """Formats a count with four digits, such as 320, 12.35k or 1.5M."""
    unit, suffix = pick_unit_and_suffix(number, ["", "k", "M", "G"], 1000)
    return f"{number / unit:.4g}{suffix}"
