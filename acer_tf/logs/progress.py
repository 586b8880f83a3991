"""How far training is: a bar on a terminal, a line every half minute elsewhere."""

import datetime
import math
import statistics
import sys
import time
from collections import deque
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from acer_tf.logs.logger import Sink
from acer_tf.segment import Episode
from acer_tf.system.console import say

LINE_INTERVAL = 30.0
"""Seconds between two lines where standard error is no terminal."""


class ProgressSink(Sink):
    """Keeps count of steps, speed and returns; a subclass shows it."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        """Takes the agent steps of the whole run, and those that replay holds when full; 0 is no replay."""
        self._total = total_steps
        self._replay_steps = replay_steps
        self._iterations: deque[tuple[float, int]] = deque(maxlen=100)
        self._returns: deque[float] = deque(maxlen=100)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """See `Sink`."""
        self._returns.extend(float(episode.r) for episode in episodes)

    def progress(self, steps: int) -> None:
        """See `Sink`."""
        self._iterations.append((time.monotonic(), steps))
        self._show(steps, self._text())

    def _show(self, steps: int, text: str) -> None:
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

    def _show(self, steps: int, text: str) -> None:
        if time.monotonic() >= self._next_line:
            say(text, is_error=True)
            self._next_line = time.monotonic() + LINE_INTERVAL


class BarSink(ProgressSink):
    """Draws a bar on the terminal that standard error is."""

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

    def _show(self, steps: int, text: str) -> None:
        self._bar.start()
        self._bar.update(self._task, completed=steps, description=text)

    def close(self) -> None:
        """Gives the terminal back; may be called again."""
        self._bar.stop()


def progress_sink(total_steps: int, replay_steps: int = 0) -> ProgressSink:
    """Returns the sink that suits standard error.

    It shows steps, speed, time left, mean return of 100 episodes, and how full replay is.

    Args:
        total_steps: agent steps of the whole run.
        replay_steps: agent steps that replay holds when full, over all environments; 0 is no replay.
    """
    return (BarSink if sys.stderr.isatty() else LineSink)(total_steps, replay_steps)
