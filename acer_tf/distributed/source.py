"""Segments from collectors, for a training loop that does not know where they come from."""

import queue
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.config import Collecting
from acer_tf.distributed.collector import Refusal
from acer_tf.distributed.fleet import Fleet, Lost, Outcome, raised
from acer_tf.distributed.lane import Lane
from acer_tf.distributed.layout import Layout
from acer_tf.distributed.tally import Tally
from acer_tf.distributed.wire import MalformedSegmentError, Received, unpack
from acer_tf.model import Model
from acer_tf.runner import AfterStep
from acer_tf.segment import Episode, Segment
from acer_tf.system.console import say

START_SECONDS = 600.0
"""Longest start-up of a collector, which imports TensorFlow and makes environments."""


class _Event(NamedTuple):
    """The outcome of a call; `is_segment` tells `collect` from `begin`."""

    source: int
    incarnation: int
    is_segment: bool
    outcome: Outcome


class CollectorSource:
    """A `SegmentSource` whose segments are collected elsewhere, with the weights of a few updates ago.

    Each collector has `actor_depth` orders. When the loop takes a segment, its collector gets the next order, with the
    newest weights, before the loop trains. So no more segments are ever ahead of the learner than there are orders.

    In lockstep, segments are taken from one collector after the other. Which weights and which seed a segment is
    collected with then depends on its place in this order alone, and so do the weights that are learned. The actions
    since a recorded restart are kept: with them a lost collector, or a resumed run, comes back to where it was.

    Attributes:
        episodes: whole episodes that ended in the last segment.
        first_env: index of its first environment among those of all collectors.
    """

    def __init__(self, fleet: Fleet, layout: Layout, model: Model, collecting: Collecting, seed: int) -> None:
        """Takes over the collectors; they begin with the first `run`.

        Args:
            fleet: the collectors.
            layout: what their segments consist of.
            model: whose weights they get.
            collecting: how to collect.
            seed: of environments and sampling.
        """
        self.episodes: list[Episode] = []
        self.first_env = 0
        self._fleet, self._layout, self._model, self._collecting = fleet, layout, model, collecting
        self._lanes = [Lane(index, seed) for index in range(collecting.actors)]
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._arrivals: deque[Lane] = deque()
        self._turn = 0
        self._published: tuple[int, list[NDArray[Any]], Any] | None = None
        self._updates_before = 0
        self._restart_seed: int | None = None
        self._has_failed = False
        self._tally, self._start = Tally(), time.monotonic()
        self._has_masks: bool | None = None

    def run(self, after_step: AfterStep | None = None) -> Segment:
        """Returns the next segment that is not too stale; waits for it.

        Raises:
            InputError: a collector cannot work with these settings or environments.
            EnvironmentFailedError: an environment of a collector raised an error, or gave a number that is not finite.
        """
        assert after_step is None, "callbacks cannot follow collectors"
        received = self._fresh()
        self._order()  # the collector goes on while the loop trains
        index, segment = received.header.source, received.segment
        self.first_env = index * self._layout.nenvs
        seconds = time.monotonic() - self._start
        self.episodes = [e._replace(env=self.first_env + e.env, t=seconds) for e in received.episodes]
        return segment

    def restart(self, seed: int, is_recorded: bool) -> None:
        """Starts new episodes in all collectors; see `Runner.restart`. What they are collecting is dropped."""
        self._restart_seed = seed if is_recorded and self._collecting.lockstep else None
        self._turn, self._has_failed = 0, False
        self._arrivals.clear()
        for lane in self._lanes:
            lane.restart(seed)

    def state_dict(self) -> dict[str, Any]:
        """Returns where the collectors are after a recorded restart in lockstep; else nothing that restores them.

        Waits until everything that was ordered has arrived. After an error in a collector, nothing is restored either.
        """
        seed = None if self._has_failed else self._restart_seed
        state: dict[str, Any] = {"seconds": time.monotonic() - self._start, "restart_seed": seed}
        if seed is None:
            return state
        self._wait(lambda: not any(lane.orders for lane in self._lanes))
        state |= {"actors": len(self._lanes), "turn": self._turn, "updates": self._updates}
        state["ordered"] = [lane.ordered for lane in self._lanes]
        for lane in self._lanes:
            if lane.actions:
                state[f"actions/{lane.index}"] = np.concatenate(lane.actions, axis=1)
                state[f"state/{lane.index}"] = lane.state
            for i, received in enumerate(lane.arrived):
                state[f"segment/{lane.index}/{i}"] = np.frombuffer(received.packed, np.uint8)
        if self._published is not None:
            version, weights, _ = self._published
            state["version"] = version
            state |= {f"weights/{i}": array for i, array in enumerate(weights)}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> bool:
        """Restores what `state_dict` returned; returns whether the collectors will be where they were.

        Raises:
            InputError: a segment in it is damaged.
        """
        self._start = time.monotonic() - state["seconds"]
        seed, is_same = state["restart_seed"], state.get("actors") == len(self._lanes)
        if seed is None or not is_same or not self._collecting.lockstep:
            return False
        self.restart(seed, is_recorded=True)
        self._turn, self._updates_before = state["turn"], state["updates"] - self._model.updates
        for lane, ordered in zip(self._lanes, state["ordered"], strict=True):
            lane.ordered = ordered
            if f"actions/{lane.index}" in state:
                lane.actions, lane.state = [state[f"actions/{lane.index}"]], state[f"state/{lane.index}"]
            while (name := f"segment/{lane.index}/{len(lane.arrived)}") in state:
                lane.arrived.append(unpack(state[name].tobytes(), self._layout))
        if "version" in state:
            weights = [state[f"weights/{i}"] for i in range(len(self._model.params))]
            self._published = state["version"], weights, self._fleet.publish(weights)
        return True

    def metrics(self) -> dict[str, float]:
        """Returns the metrics of collecting since the last row; worker processes of Atari games are not counted."""
        alive = sum(lane.is_begun for lane in self._lanes)
        return {"workers_replaced": 0, **self._tally.metrics(alive)}

    def close(self) -> None:
        """Ends the collectors; may be called again."""
        self._fleet.close()

    @property
    def _updates(self) -> int:
        """Updates of the model since the run began, also before it was resumed."""
        return self._updates_before + self._model.updates

    def _fresh(self) -> Received:
        """Returns the next segment, without those that are too stale."""
        began = time.monotonic()
        while True:
            self._order()
            self._wait(lambda: self._next_lane() is not None)
            lane = self._next_lane()
            assert lane is not None
            self._turn += 1
            if not self._collecting.lockstep:
                self._arrivals.popleft()
            received = lane.arrived.popleft()
            staleness, most = self._updates - received.header.version, self._collecting.max_staleness
            if most is None or staleness <= most:
                break
            self._tally.dropped += 1
        self._tally.took(staleness)
        self._tally.waited(time.monotonic() - began)
        return received

    def _next_lane(self) -> Lane | None:
        """Returns the collector whose segment is next: in turn, or in the order of arrival; None if it must wait."""
        if self._collecting.lockstep:
            lane = self._lanes[self._turn % len(self._lanes)]
            return lane if lane.arrived else None
        return self._arrivals[0] if self._arrivals else None

    def _order(self) -> None:
        """Orders segments from every collector that has fewer than it may have."""
        for lane in self._lanes:
            while lane.load < self._collecting.actor_depth:
                version, _, weights = self._newest()
                lane.order(version, weights)
            self._send(lane)

    def _newest(self) -> tuple[int, list[NDArray[Any]], Any]:
        """Returns version and weights, of which new ones are published if they are due."""
        if self._published is None or self._updates - self._published[0] >= self._collecting.publish_every:
            weights = [param.numpy() for param in self._model.params]
            self._published = self._updates, weights, self._fleet.publish(weights)
        return self._published

    def _send(self, lane: Lane) -> None:
        """Asks a collector to begin, if it is time, and gives it orders that it does not have yet."""
        now = time.monotonic()
        if not lane.is_asked:
            if now < lane.retry_at:
                return
            lane.is_asked, lane.deadline = True, now + START_SECONDS + self._collecting.actor_timeout
            self._fleet.begin(lane.index, lane.start(), self._teller(lane, is_segment=False))
        for order, weights in list(lane.orders)[lane.sent :]:
            if lane.is_begun and not lane.sent:
                lane.deadline = now + self._collecting.actor_timeout
            lane.sent += 1
            order = order._replace(incarnation=lane.incarnation)
            self._fleet.collect(lane.index, order, weights, self._teller(lane, is_segment=True))

    def _teller(self, lane: Lane, is_segment: bool) -> Callable[[Outcome], None]:
        index, incarnation = lane.index, lane.incarnation
        return lambda outcome: self._events.put(_Event(index, incarnation, is_segment, outcome))

    def _wait(self, is_over: Callable[[], bool]) -> None:
        """Handles what the collectors answer, and looks after silent ones, until the condition holds."""
        while True:
            while not self._events.empty():
                self._handle(self._events.get())
            if is_over():
                return
            self._watch()
            try:
                self._handle(self._events.get(timeout=self._seconds_to_next()))
            except queue.Empty:
                continue

    def _watch(self) -> None:
        """Replaces collectors that are silent for too long; orders from lost ones again when it is time."""
        now = time.monotonic()
        for lane in self._lanes:
            if lane.is_asked and lane.sent and now > lane.deadline:
                seconds = self._collecting.actor_timeout
                self._lose(lane, f"it has sent nothing for {seconds:g} seconds", must_replace=True)
        self._order()

    def _seconds_to_next(self) -> float:
        now = time.monotonic()
        times = [lane.deadline if lane.is_asked else lane.retry_at for lane in self._lanes if lane.orders]
        return max(min(times) - now, 0.01)

    def _handle(self, event: _Event) -> None:
        lane, outcome = self._lanes[event.source], event.outcome
        if event.incarnation != lane.incarnation:
            return  # an answer to a process that has been given up, or from before a restart
        if isinstance(outcome, Refusal | BaseException):
            self._has_failed = True
            raise raised(lane.index, outcome) if isinstance(outcome, Refusal) else outcome
        if isinstance(outcome, Lost):
            self._lose(lane, outcome.reason, must_replace=outcome.is_gone)
        elif event.is_segment:
            self._receive(lane, outcome)
        else:
            lane.is_begun = True
            lane.deadline = time.monotonic() + self._collecting.actor_timeout

    def _receive(self, lane: Lane, packed: object) -> None:
        """Takes a segment in, if it is the one that was ordered; else the collector is replaced."""
        try:
            received = unpack(packed, self._layout)
            self._check(lane, received)
        except MalformedSegmentError as error:
            self._tally.dropped += 1
            self._lose(lane, str(error), must_replace=True)
            return
        lane.receive(received, is_recorded=self._restart_seed is not None)
        lane.deadline = time.monotonic() + self._collecting.actor_timeout
        if not self._collecting.lockstep:
            self._arrivals.append(lane)

    def _check(self, lane: Lane, received: Received) -> None:
        order, _ = lane.orders[0]
        expected = (lane.index, lane.incarnation, order.sequence, order.version)
        if received.header != expected:
            raise MalformedSegmentError(f"a collector sent segment {tuple(received.header)}; expected {expected}.")
        has_masks = not isinstance(received.segment.action_masks, tuple)
        if self._has_masks not in (None, has_masks):
            raise MalformedSegmentError("a collector sent a segment that differs from the others in action masks.")
        self._has_masks = has_masks

    def _lose(self, lane: Lane, reason: str, must_replace: bool) -> None:
        """Notes that a collector was lost; the others go on."""
        keeps_life = self._restart_seed is not None
        if not lane.failures:
            self._tally.replaced += 1
            say(f"collector {lane.index} is replaced: {reason}", is_error=True)
            if self._collecting.lockstep and not keeps_life:
                say(
                    "it starts new episodes: from here on this run differs from one without the loss.",
                    is_error=True,
                )
        lane.lose(time.monotonic(), keeps_life)
        if must_replace:
            self._fleet.replace(lane.index)
