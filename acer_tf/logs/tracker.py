"""What the sinks of trackers of experiments have in common."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acer_tf.logs.curves import CurveSink
from acer_tf.system.console import say

Points = Sequence[tuple[int, Mapping[str, float]]]
"""Agent steps, and values by full name."""


class TrackerSink(CurveSink):
    """Passes curves on to a tracker; subclasses know it.

    The first row starts it. A resumed run goes on in the same tracked run, whose id is in the run folder. A tracker
    that fails is given up with one line of warning.
    """

    def __init__(self, name: str, folder: Path, frames_per_step: int | None, settings: Mapping[str, Any]) -> None:
        """Writes nothing yet.

        Args:
            name: of the tracker, for its warning and the file of the id.
            folder: of the run.
            frames_per_step: as of `CurveSink`.
            settings: plain values of the run.
        """
        super().__init__(frames_per_step)
        self._name, self._folder, self._settings = name, folder.resolve(), dict(settings)
        self._id_file = self._folder / f"{name}_id"
        self._points: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self._is_started = self._is_over = False

    def add(self, steps: int, values: Mapping[str, float]) -> None:
        """Collects one point of each curve."""
        self._points[steps].update(values)

    def write_points(self) -> None:
        """Passes the points on in the order of their steps, as wandb wants them."""
        points = sorted(self._points.items())
        self._points.clear()
        if not points or self._is_over:
            return
        with self._giving_up_on_errors():
            if not self._is_started:
                self._start()
                self._is_started = True
            self._log(points)

    def state_dict(self) -> dict[str, int]:
        """Passes the points on; no file has a size that matters."""
        self.write_points()
        return {}

    def close(self) -> None:
        """Ends the tracked run; may be called again."""
        self.write_points()
        if self._is_started and not self._is_over:
            with self._giving_up_on_errors():
                self._finish()
        self._is_over = True

    @contextlib.contextmanager
    def _giving_up_on_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._is_over = True
            reason = str(error).strip().partition("\n")[0]
            say(f"{self._name} failed ({type(error).__name__}: {reason}); it gets no more metrics.", is_error=True)
            with contextlib.suppress(Exception):
                self._abandon()

    def _start(self) -> None:
        raise NotImplementedError

    def _log(self, points: Points) -> None:
        raise NotImplementedError

    def _finish(self) -> None:
        raise NotImplementedError

    def _abandon(self) -> None:
        """Cleans up after an error."""
