"""The state of each collector and the metrics of all, as the learner sees them."""

import dataclasses
import time
from collections import deque

import numpy as np

from acer_tf.distributed.collector import Collected

FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
"""Seconds before a lost collector is asked to begin again, at first and after many failures."""


@dataclasses.dataclass(eq=False)
class Order:
    """A segment that a collector has been asked for.

    Attributes:
        version: number of updates behind the weights to collect it with.
        collected: the segment, once it has arrived.
    """

    version: int
    collected: Collected | None = None


@dataclasses.dataclass(eq=False)
class CollectorState:
    """The state of one collector, as the learner sees it.

    Attributes:
        index: number of the collector.
        incarnation: how often it was lost or started new episodes; answers from earlier incarnations are ignored.
        asked_at: time at which it was asked to begin; None if it was not.
        is_begun: whether it has confirmed that it has begun.
        retry_at: time at which to ask a lost collector to begin again.
        failures: how often it was lost in a row.
        deadline: time at which to replace it, unless it has answered by then.
        orders: orders that have not arrived yet, oldest first.
        untaken: segments that have arrived but that the learner has not taken yet.
    """

    index: int
    incarnation: int = 0
    asked_at: float | None = None
    is_begun: bool = False
    retry_at: float = 0.0
    failures: int = 0
    deadline: float = 0.0
    orders: deque[Order] = dataclasses.field(default_factory=deque)
    untaken: int = 0

    def begin_again(self, at: float = 0.0) -> None:
        """Forgets its orders; from this time on, it may be asked to begin."""
        self.incarnation += 1
        self.asked_at, self.is_begun = None, False
        self.retry_at = at
        self.orders.clear()

    def lose(self, now: float) -> None:
        """Notes that the process was lost; it may begin again after a pause twice as long as the last one."""
        self.begin_again(now + min(FIRST_BACKOFF * 2**self.failures, LONGEST_BACKOFF))
        self.failures = min(self.failures + 1, 16)


class CollectorMetrics:
    """Counts losses since the start, and staleness and waiting since the last row of metrics.

    Attributes:
        replaced: collectors that were lost and began again.
        dropped: segments that were too stale for training.
    """

    def __init__(self) -> None:
        self.replaced = self.dropped = 0
        self._staleness: list[int] = []
        self._waited, self._since = 0.0, time.monotonic()

    def took(self, staleness: int, waited: float) -> None:
        """Counts a segment: the updates since its weights, and the seconds for which the learner waited."""
        self._staleness.append(staleness)
        self._waited += waited

    def row(self, alive: int) -> dict[str, float]:
        """Returns the metrics, and starts those of the next row."""
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
