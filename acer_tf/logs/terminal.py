"""Metrics and progress on the terminal: baselines' table, and a progress bar or progress lines."""

import datetime
import math
import statistics
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from numbers import Integral

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from acer_tf.logs.logger import Sink
from acer_tf.segment import Episode
from acer_tf.system.console import say

LINE_INTERVAL = 30.0
"""Seconds between two progress lines where standard error is no terminal."""


class TableSink(Sink):
    """Prints each row of metrics as baselines' logger does; metrics of replay are left to the files."""

    def write(self, values: Mapping[str, float]) -> None:
        """Prints one table."""
        say(table({name: value for name, value in values.items() if not name.startswith("replay_")}))


def table(values: Mapping[str, float]) -> str:
    """Returns metrics as a two-column table in their own order; whole numbers are shown in full."""
    cells = {name: f"{value:d}" if isinstance(value, Integral) else f"{value:.3g}" for name, value in values.items()}
    name_width = max(map(len, cells), default=0)
    cell_width = max(map(len, cells.values()), default=0)
    rule = "-" * (name_width + cell_width + 7)
    rows = [f"| {name:{name_width}} | {cell:{cell_width}} |" for name, cell in cells.items()]
    return "\n".join([rule, *rows, rule])


class ProgressSink(Sink):
    """Tracks agent steps, speed and returns; subclasses display them."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        """Starts to measure speed; the arguments are those of `progress_sink`."""
        self._total = total_steps
        self._replay_steps = replay_steps
        self._iterations: deque[tuple[float, int]] = deque(maxlen=100)
        self._returns: deque[float] = deque(maxlen=100)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Adds returns; the last 100 are averaged."""
        self._returns.extend(float(episode.r) for episode in episodes)

    def progress(self, steps: int) -> None:
        """Shows the progress after an iteration; the speed is that of the last 100 iterations."""
        self._iterations.append((time.monotonic(), steps))
        self.show(steps, self._text())

    def show(self, steps: int, text: str) -> None:
        """Shows the agent steps so far, and the text that describes them."""
        raise NotImplementedError

    def _text(self) -> str:
        (first_time, first_steps), (last_time, steps) = self._iterations[0], self._iterations[-1]
        parts = [f"{min(1.0, steps / self._total):.1%}", f"{steps:,}/{self._total:,} steps"]
        if steps > first_steps and last_time > first_time:
            speed = (steps - first_steps) / (last_time - first_time)
            left = datetime.timedelta(seconds=math.ceil(max(0, self._total - steps) / speed))
            parts += [f"{speed:,.0f} steps/s", f"{left} left"]
        if self._returns:
            parts += [f"return {statistics.fmean(self._returns):.1f}"]
        if self._replay_steps:
            parts += [f"replay {min(1.0, steps / self._replay_steps):.0%}"]
        return "  ".join(parts)


class LineSink(ProgressSink):
    """Prints a line on standard error, at most one every `LINE_INTERVAL` seconds."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        super().__init__(total_steps, replay_steps)
        self._next_line = -math.inf

    def show(self, steps: int, text: str) -> None:
        """Prints the text, unless the last line is less than `LINE_INTERVAL` seconds old."""
        if time.monotonic() >= self._next_line:
            say(text, is_error=True)
            self._next_line = time.monotonic() + LINE_INTERVAL


class BarSink(ProgressSink):
    """Draws a progress bar; standard error must be a terminal."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        super().__init__(total_steps, replay_steps)
        self._bar = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            refresh_per_second=2,
            # What is printed on the same terminal appears above the bar; a piped output stays a pipe.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._bar.add_task("", total=total_steps)

    def show(self, steps: int, text: str) -> None:
        """Moves the bar; the first call draws it."""
        self._bar.start()
        self._bar.update(self._task, completed=steps, description=text)

    def close(self) -> None:
        """Stops drawing and restores the cursor; may be called again."""
        self._bar.stop()


def progress_sink(total_steps: int, replay_steps: int = 0) -> ProgressSink:
    """Returns a bar if standard error is a terminal, else a sink that prints lines.

    Either shows steps, speed, time left, the mean return of 100 episodes, and how full replay is.

    Args:
        total_steps: agent steps of the whole run.
        replay_steps: agent steps that replay holds when full, over all environments; 0 without replay.
    """
    return (BarSink if sys.stderr.isatty() else LineSink)(total_steps, replay_steps)
