"""Progress on standard error: a bar on a terminal and in a notebook, lines elsewhere."""

import datetime
import importlib.util
import math
import sys
import time
from collections import deque

from rich.console import Console
from rich.filesize import pick_unit_and_suffix
from rich.progress import BarColumn, Progress, TextColumn

from acer_tf.logs.recent import RecentEpisodes
from acer_tf.system.console import say

LINE_INTERVAL = 30.0
"""Seconds between two progress lines where there is no bar."""
BAR_WIDTHS = (8, 40)
"""Smallest and largest width of the bar itself, in characters."""
LEAST_IMPORTANT = ("replay", "speed", "steps", "return", "left")
"""What a narrow bar leaves out, in this order."""


class ProgressSink(RecentEpisodes):
    """Tracks agent steps, speed and returns; subclasses display them."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        """Starts to measure speed; the arguments are those of `progress_sink`."""
        super().__init__()
        self._total = total_steps
        self._replay_steps = replay_steps
        self._iterations: deque[tuple[float, int]] = deque(maxlen=100)

    def progress(self, steps: int) -> None:
        """Shows the progress after an iteration; the speed is that of the last 100 iterations."""
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
            left = datetime.timedelta(seconds=math.ceil(max(0, self._total - steps) / speed))
            texts |= {"speed": f"{speed:,.0f} steps/s", "left": f"{left} left"}
        if not math.isnan(self.mean_return):
            texts["return"] = f"return {self.mean_return:z.1f}"
        if self._replay_steps:
            texts["replay"] = f"replay {min(1.0, steps / self._replay_steps):.0%}"
        return texts


class LineSink(ProgressSink):
    """Prints a line on standard error, at most one every `LINE_INTERVAL` seconds."""

    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        super().__init__(total_steps, replay_steps)
        self._next_line = -math.inf

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
            # What is printed on the same terminal appears above the bar; a piped output stays a pipe.
            redirect_stdout=sys.stdout.isatty(),
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

    Either shows steps, speed, time left, the mean return of 100 episodes, and how full replay is.

    Args:
        total_steps: agent steps of the whole run.
        replay_steps: agent steps that replay holds when full, over all environments; 0 without replay.
    """
    is_live = Console().is_jupyter and importlib.util.find_spec("ipywidgets") is not None
    return (BarSink if is_live or sys.stderr.isatty() else LineSink)(total_steps, replay_steps)


def fitting(texts: dict[str, str], width: int) -> str:
    """Joins texts, without the least important ones if they are longer than `width`."""
    texts = dict(texts)
    for name in LEAST_IMPORTANT:
        if len("  ".join(texts.values())) > width:
            texts.pop(name, None)
    return "  ".join(texts.values())


def compact(number: int) -> str:
    """Formats a count with four digits, such as 320, 12.35k or 1.5M."""
    unit, suffix = pick_unit_and_suffix(number, ["", "k", "M", "G"], 1000)
    return f"{number / unit:.4g}{suffix}"
