"""What happened to collectors and segments, as metrics."""

import time

import numpy as np


class Tally:
    """Counts losses since the start, and staleness and waiting since the last row of metrics.

    Attributes:
        replaced: collectors that were lost and began again.
        dropped: segments that were not trained on: malformed, or too stale.
    """

    def __init__(self) -> None:
        self.replaced = self.dropped = 0
        self._staleness: list[int] = []
        self._waited, self._since = 0.0, time.monotonic()

    def took(self, staleness: int) -> None:
        """Counts a segment that is trained on, whose weights have been updated this many times since."""
        self._staleness.append(staleness)

    def waited(self, seconds: float) -> None:
        """Counts time in which the learner had nothing to train on."""
        self._waited += seconds

    def metrics(self, alive: int) -> dict[str, float]:
        """Returns the metrics, and begins the next row's."""
        now = time.monotonic()
        staleness = self._staleness or [0]
        metrics = {
            "actors_alive": alive,
            "actors_replaced": self.replaced,
            "actors_staleness_mean": float(np.mean(staleness)),
            "actors_staleness_p95": float(np.percentile(staleness, 95)),
            "actors_idle_share": self._waited / max(now - self._since, 1e-9),
            "actors_segments_dropped": self.dropped,
        }
        self._staleness, self._waited, self._since = [], 0.0, now
        return metrics
