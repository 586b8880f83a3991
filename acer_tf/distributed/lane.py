"""What the learner knows of one collector: its episodes, what it is to collect, what has arrived."""

import dataclasses
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.distributed.collector import Order, Start
from acer_tf.distributed.wire import Received

FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
"""Seconds before a lost collector is asked to begin again: at first, and after many failures."""


@dataclasses.dataclass
class Lane:
    """One collector.

    A `life` is the sequence of episodes from one seed of the environments on; where actions are recorded, it survives
    the process that collects.

    Attributes:
        index: number of the collector.
        seed: of the run or of its last restart.
        incarnation: how often it has begun; answers to earlier incarnations are ignored.
        life: how many lives before this one were lost since the last restart.
        is_begun: whether the present incarnation has answered that it has begun.
        is_asked: whether it was asked to begin.
        retry_at: time at which a lost collector is asked to begin again.
        failures: how often in a row it was lost.
        deadline: time at which a silent collector is replaced.
        ordered: number of segments ordered since the last restart.
        orders: not arrived yet, with the weights, oldest first.
        sent: how many of them the present incarnation was given.
        arrived: segments that the learner has not taken yet.
        actions: of all segments that have arrived in this life, if they are recorded.
        state: the policy's state after the last of them.
    """

    index: int
    seed: int
    incarnation: int = 0
    life: int = 0
    is_begun: bool = False
    is_asked: bool = False
    retry_at: float = 0.0
    failures: int = 0
    deadline: float = 0.0
    ordered: int = 0
    orders: deque[tuple[Order, Any]] = dataclasses.field(default_factory=deque)
    sent: int = 0
    arrived: deque[Received] = dataclasses.field(default_factory=deque)
    actions: list[NDArray[Any]] = dataclasses.field(default_factory=list)
    state: NDArray[np.float32] | None = None

    @property
    def load(self) -> int:
        """Segments that are in the making or have arrived."""
        return len(self.orders) + len(self.arrived)

    def start(self) -> Start:
        """Returns how the present incarnation begins."""
        actions = np.concatenate(self.actions, axis=1) if self.actions else None
        return Start(self.incarnation, self._drawn(0), actions, self.state)

    def order(self, version: int, weights: Any) -> None:
        """Adds an order for the next segment, from these weights."""
        self.ordered += 1
        self.orders.append((Order(self.incarnation, self.ordered, version, self._drawn(self.ordered)), weights))

    def restart(self, seed: int) -> None:
        """Forgets everything that was or will be collected, and begins anew from this seed."""
        self.seed, self.life, self.ordered = seed, 0, 0
        self.orders.clear()
        self.arrived.clear()
        self._begin_again(0.0)
        self.actions, self.state = [], None

    def receive(self, received: Received, is_recorded: bool) -> None:
        """Takes the segment of the oldest order."""
        self.orders.popleft()
        self.sent -= 1
        self.arrived.append(received)
        self.failures = 0
        if is_recorded:
            self.actions.append(received.segment.actions)
            self.state = received.next_state

    def lose(self, now: float, keeps_life: bool) -> None:
        """Notes that the process was lost, which may begin again after a while.

        Args:
            now: the time.
            keeps_life: whether the next process goes on where this one was, and collects what was ordered; else it
                starts new episodes, and nothing is in the making.
        """
        self._begin_again(now + min(FIRST_BACKOFF * 2**self.failures, LONGEST_BACKOFF))
        self.failures = min(self.failures + 1, 16)
        if keeps_life:
            return
        self.life += 1
        self.actions, self.state = [], None
        self.orders.clear()

    def _begin_again(self, at: float) -> None:
        self.incarnation += 1
        self.is_begun = self.is_asked = False
        self.sent, self.retry_at = 0, at

    def _drawn(self, number: int) -> int:
        """Returns a seed, which depends on the run's, the collector, its life, and this number alone."""
        sequence = np.random.SeedSequence([self.seed, self.index, self.life, number])
        return int(sequence.generate_state(1)[0])
