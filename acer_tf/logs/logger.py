"""A logger distributes the metrics of a run to sinks, one per file or terminal."""

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, SupportsFloat

from acer_tf.errors import InputError, type_in_words
from acer_tf.logs.metrics import METRICS, full_name
from acer_tf.segment import Episode

_NAME = re.compile(r"[\w. /-]+")
"""Names that TensorBoard and experiment trackers accept."""


LEAST_SPACING = 1 / 1000
"""Least distance between two rows in a run's files, as a share of the agent steps so far.

It keeps the files of long runs small: from the thousandth row on, a run ten times as long has only 2,300 more rows.
Curves still have a point for each pixel across a plot.
"""


def is_spaced(last: int, steps: int) -> bool:
    """Whether a row at these agent steps is far enough from the last one."""
    return abs(steps - last) >= steps * LEAST_SPACING


class Sink:
    """One destination of metrics and episodes; every method does nothing until a subclass overrides it."""

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row of metrics; called every `log_interval` iterations, with the same names every time."""

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Records the episodes that ended in an iteration; called once per iteration, before `progress`."""

    def progress(self, steps: int) -> None:
        """Records the agent steps so far, over all environments; called once per iteration."""

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Records an evaluation of the agent as it was after this many agent steps."""

    def state_dict(self) -> dict[str, Any]:
        """Returns the number of bytes written so far, under the file's name, as part of a checkpoint.

        It raises no OSError, as a log that cannot be written must not prevent a checkpoint.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Drops what was written after `state_dict`; the state may also hold files of other sinks."""

    def close(self) -> None:
        """Closes files and restores the terminal; may be called again."""


class Logger(Sink):
    """Passes every call on to its sinks, in order; `Logger()` logs nothing."""

    def __init__(self, sinks: Iterable[Sink] = (), check: Callable[[], None] = lambda: None) -> None:
        """Calls `check` before passing on each call; `check` raises an error to prevent that."""
        self._sinks = tuple(sinks)
        self._check = check
        self._recorded: dict[str, float] = {}

    @property
    def is_silent(self) -> bool:
        """Whether there are no readers, so that metrics need not be computed."""
        return not self._sinks

    def record(self, name: str, value: SupportsFloat) -> None:
        """Adds a user's number to the next row of metrics, and thus to every sink.

        If a name is recorded several times before that row, the last value counts. Later rows also have the name, with
        nan if there is no new value.

        Args:
            name: letters, digits, `_`, `.`, `-`, `/` and spaces, such as custom/angle.
            value: a number.

        Raises:
            InputError: the name is a metric's or has other characters, or the value is not a number.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"the name {name!r} cannot be recorded; expected letters, digits, _, ., -, / and spaces.")
        if name in METRICS or name in map(full_name, METRICS):
            raise InputError(f"{name} is a metric of training; choose another name, such as custom/{name}.")
        self._recorded[name] = _number(name, value)

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row of metrics to every sink, with the recorded numbers."""
        row = {**values, **self._recorded}
        self._recorded = dict.fromkeys(self._recorded, math.nan)
        for sink in self._checked():
            sink.write(row)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Records finished episodes in every sink."""
        for sink in self._checked():
            sink.episodes(episodes)

    def progress(self, steps: int) -> None:
        """Records the agent steps so far in every sink."""
        for sink in self._checked():
            sink.progress(steps)

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Records an evaluation in every sink."""
        for sink in self._checked():
            sink.evaluation(steps, values)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of every sink."""
        return {name: value for sink in self._checked() for name, value in sink.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Cuts the files of all sinks back to these sizes."""
        for sink in self._checked():
            sink.load_state_dict(state)

    def close(self) -> None:
        """Closes every sink."""
        for sink in self._checked():
            sink.close()

    def _checked(self) -> Sequence[Sink]:
        self._check()
        return self._sinks


class SpacedLogger(Logger):
    """Passes everything on, but rows of metrics only if they are `LEAST_SPACING` apart."""

    def __init__(self, sinks: Iterable[Sink]) -> None:
        super().__init__(sinks)
        self._row_at = 0

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row of metrics, unless it is too close to the last one; recorded numbers wait for the next row."""
        self._recorded |= {n: v for n, v in values.items() if n not in METRICS and not math.isnan(v)}
        steps = int(values["total_timesteps"])
        if is_spaced(self._row_at, steps):
            self._row_at = steps
            super().write(values)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of every sink, and the step of the last row."""
        return {**super().state_dict(), "row_at": self._row_at}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Cuts the files of all sinks back to these sizes."""
        super().load_state_dict(state)
        self._row_at = state.get("row_at", 0)


def _number(name: str, value: SupportsFloat) -> float:
    if isinstance(value, Integral):
        return int(value)
    with contextlib.suppress(TypeError, ValueError):
        if not isinstance(value, str):
            return float(value)
    raise InputError(f"the value of {name} is {type_in_words(value)}; expected a number.")
