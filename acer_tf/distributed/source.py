"""Segments from collectors, for a training loop that does not know their origin."""

import queue
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from acer_tf.config import Collecting
from acer_tf.distributed.collector import Blueprint, Collected, Signature
from acer_tf.distributed.collector_state import CollectorMetrics, CollectorState, Order
from acer_tf.distributed.fleet import CallResult, Fleet, Lost, RayFleet, Tell
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.model import Model
from acer_tf.runner import AfterStep, TrainingStoppedError
from acer_tf.segment import Episode, Segment
from acer_tf.system.console import say
from acer_tf.system.streams import derived_seed

START_SECONDS = 600.0
"""Most seconds for a collector's start, in which it imports TensorFlow and makes environments."""
LATE_SECONDS = 60.0
"""Seconds after which a warning says that collectors have not begun."""
LONGEST_WAIT = 1.0
"""Seconds of waiting between two checks for signals and heartbeats to the watchdog."""


class _Published(NamedTuple):
    """Weights for collectors: the number of updates behind them, and the fleet's handle."""

    version: int
    weights: Any


class _Answer(NamedTuple):
    """Outcome of a call to a collector; without an order, the outcome of the call to begin."""

    state: CollectorState
    incarnation: int
    order: Order | None
    outcome: CallResult


class CollectorSource:
    """A `SegmentSource` whose segments are collected elsewhere, with weights from a few updates ago.

    Each collector has `actor_depth` orders. When the loop takes a segment, its collector gets the next order, with the
    newest weights, before the loop trains. So there are never more segments ahead of the learner than orders, and
    staleness is bounded: by Little's law it is, in updates, orders × (1 + replay_ratio) / segments_per_update.

    Attributes:
        episodes: whole episodes that ended in the last segment.
        first_env: index of its first environment among all collectors' environments.
        dropped: see `acer_tf.acer.SegmentSource`.
    """

    def __init__(
        self,
        fleet: Fleet,
        env: FrameStack,
        model: Model,
        collecting: Collecting,
        seed: int,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Takes over the collectors, which begin at the first `run`; see `start_collectors` for the arguments."""
        self.episodes: list[Episode] = []
        self.first_env = 0
        self.dropped: list[tuple[int, Segment]] = []
        self._fleet, self._signature, self._model = fleet, Signature.of(env), model
        self._collecting, self._seed, self._goes_on = collecting, seed, goes_on
        # One state per collector, whichever process is behind it.
        self._states = [CollectorState(index) for index in range(collecting.actors)]
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()  # filled by the fleet's threads
        self._arrived: deque[tuple[CollectorState, Order]] = deque()
        self._published: _Published | None = None
        self._metrics, self._start = CollectorMetrics(), time.monotonic()
        self._has_said_late = False

    def run(self, after_step: AfterStep | None = None) -> Segment:
        """Waits for the next segment that is not too stale, and returns it.

        Raises:
            InputError: a collector cannot work with these settings or environments.
            EnvironmentFailedError: an environment of a collector raised an error, or gave a number that is not finite.
            TrainingStoppedError: `goes_on` returned False meanwhile.
        """
        self.episodes, self.dropped = [], []
        assert after_step is None, "callbacks cannot follow collectors"
        index, collected = self._take()
        self._submit_orders()  # the collector goes on while the loop trains
        self._count(index, collected)
        self.first_env = self._first_env(index)
        return collected.whole_segment()

    def restart(self, seed: int, is_recorded: bool) -> None:
        """Starts new episodes in all collectors; drops what they are collecting, and records nothing."""
        self._seed = seed
        self._published = None  # the model may have received other weights without an update
        self._arrived.clear()
        # Answers still on their way belong to an older incarnation and are ignored.
        for state in self._states:
            state.begin_again()
            state.untaken = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the time so far; environments in other processes cannot be restored."""
        return {"seconds": time.monotonic() - self._start}

    def load_state_dict(self, state: Mapping[str, Any], heartbeat: Callable[[], object] = lambda: None) -> bool:
        """Restores the time; returns False, as the collectors have to start new episodes."""
        self._start = time.monotonic() - state["seconds"]
        return False

    def metrics(self) -> dict[str, float]:
        """Returns the metrics of collecting since the last row, without worker processes of Atari games."""
        return {"workers_replaced": 0, **self._metrics.row(sum(state.is_begun for state in self._states))}

    def close(self) -> None:
        """Ends the collectors; may be called again."""
        self._fleet.close()

    def _first_env(self, index: int) -> int:
        # Environments are numbered over all collectors, so that logs tell them apart.
        return index * self._signature.num_env

    def _count(self, index: int, collected: Collected) -> None:
        """Adds a segment's episodes to the ended ones."""
        first, seconds = self._first_env(index), time.monotonic() - self._start  # the clock continues in a resumed run
        self.episodes += [e._replace(env=first + e.env, t=seconds) for e in collected.episodes]

    def _take(self) -> tuple[int, Collected]:
        """Returns the next segment that is not too stale, and the number of its collector."""
        began, most = time.monotonic(), self._collecting.max_staleness
        while True:
            self._submit_orders()
            self._wait()
            state, order = self._arrived.popleft()
            state.untaken -= 1
            # Importance weights correct for old weights, as in replay, but very old ones may still harm learning.
            staleness = self._model.updates - order.version
            assert order.collected is not None
            if most is None or staleness <= most:
                break
            self._metrics.dropped += 1
            self._count(state.index, order.collected)
            self.dropped.append((self._first_env(state.index), order.collected.segment))
        self._metrics.took(staleness, waited=time.monotonic() - began)
        return state.index, order.collected

    def _submit_orders(self) -> None:
        """Gives every collector as many orders as it may have, except lost ones that must still wait."""
        now = time.monotonic()
        for state in self._states:
            if state.asked_at is not None or now >= state.retry_at:
                self._submit(state, now)

    def _submit(self, state: CollectorState, now: float) -> None:
        """Starts the collector and submits pending orders."""
        timeout = self._collecting.actor_timeout
        # A process that is new, or restarted by Ray, first makes its environments.
        if state.asked_at is None:
            state.asked_at, state.deadline = now, now + START_SECONDS + timeout
            # A replaced collector must not play the same episodes again.
            seed = derived_seed(self._seed, state.index, state.incarnation)
            self._fleet.begin(state.index, seed, self._teller(state, None))
        # Silence counts from the first order, as an idle collector owes nothing.
        if state.is_begun and not state.orders:
            state.deadline = now + timeout
        # Untaken segments count as well, so that a slow learner is not flooded.
        while len(state.orders) + state.untaken < self._collecting.actor_depth:
            version, weights = self._newest()
            order = Order(version)
            state.orders.append(order)
            self._fleet.collect(state.index, weights, self._teller(state, order))

    def _newest(self) -> _Published:
        """Returns the published weights, after publishing new ones if due; frees those that no order needs any more."""
        updates, how = self._model.updates, self._collecting
        # One copy in the object store serves all collectors until it is too old for its segments to be kept.
        lifetime = how.publish_every if how.max_staleness is None else min(how.publish_every, how.max_staleness + 1)
        if self._published is None or updates - self._published.version >= lifetime:
            self._published = _Published(updates, self._fleet.publish([p.numpy() for p in self._model.params]))
        return self._published

    def _teller(self, state: CollectorState, order: Order | None) -> Tell:
        # Called in one of Ray's threads, it only queues; the loop's thread decides.
        incarnation = state.incarnation
        return lambda outcome: self._answers.put(_Answer(state, incarnation, order, outcome))

    def _wait(self) -> None:
        """Handles answers, and looks after silent and lost collectors, until there is a segment."""
        while True:
            while not self._answers.empty():
                self._handle(self._answers.get())
            self._replace_silent()
            if self._arrived:
                return
            self._say_late()
            if not self._goes_on():
                raise self._stopped()
            self._submit_orders()  # lost collectors may be due
            try:
                self._handle(self._answers.get(timeout=min(self._seconds_to_next(), LONGEST_WAIT)))
            except queue.Empty:
                continue

    def _stopped(self) -> TrainingStoppedError:
        """Returns the error for a segment that was given up before its first step."""
        none = np.zeros((self._signature.num_env, 0), np.float32)
        return TrainingStoppedError(none, none.astype(np.bool_), np.zeros(len(none), np.bool_))

    def _replace_silent(self) -> None:
        now, seconds = time.monotonic(), self._collecting.actor_timeout
        for state in self._states:
            if state.orders and now > state.deadline:
                reason = f"it has sent nothing for {seconds:g} seconds"
                if not state.is_begun:
                    reason = (
                        f"it has not begun within {START_SECONDS + seconds:g} seconds; it takes a processor of the Ray "
                        "cluster that nothing else uses"
                    )
                self._lose(state, reason, must_replace=True)

    def _say_late(self) -> None:
        """Warns once about collectors that have not begun although they had enough time."""
        since = time.monotonic() - LATE_SECONDS
        late = sum(
            state.asked_at is not None and state.asked_at < since and not state.is_begun for state in self._states
        )
        if late and not self._has_said_late:
            self._has_said_late = True
            say(
                f"{late} of {len(self._states)} collectors have not begun after {LATE_SECONDS:g} seconds; each takes a "
                "processor of the Ray cluster that nothing else uses",
                is_error=True,
            )

    def _seconds_to_next(self) -> float:
        """Returns the seconds until a collector must answer or may begin again; all have orders or are lost."""
        times = [state.retry_at if state.asked_at is None else state.deadline for state in self._states]
        return max(min(times) - time.monotonic(), 0.01)

    def _handle(self, answer: _Answer) -> None:
        state, _, order, outcome = answer
        if answer.incarnation != state.incarnation:
            return  # an answer from a process that was given up, or from before a restart
        # An error not to be retried ends the run, as other collectors would also meet it.
        if isinstance(outcome, BaseException):
            raise _told(state.index, outcome)
        if isinstance(outcome, Lost):
            self._lose(state, outcome.reason, must_replace=outcome.is_gone)
            return
        state.deadline = time.monotonic() + self._collecting.actor_timeout
        if isinstance(outcome, Signature):
            self._check(state, outcome)
            state.is_begun = True
        else:
            assert order is not None
            order.collected = outcome
            self._accept(state)

    def _check(self, state: CollectorState, signature: Signature) -> None:
        """Checks, when a collector begins, that its segments will have the shapes and dtypes of this run."""
        for name, theirs, ours in zip(Signature._fields, signature, self._signature, strict=True):
            if theirs != ours:
                raise InputError(
                    f"collector {state.index} has {name} {theirs}, but the learner {ours}; every node needs the same "
                    "versions of this package and of the environments."
                )

    def _accept(self, state: CollectorState) -> None:
        """Accepts a collector's segments in the order of its episodes, as a large one may arrive after the next."""
        state.failures = 0
        # Episodes and recurrent states continue from segment to segment, so order matters.
        while state.orders and state.orders[0].collected is not None:
            self._arrived.append((state, state.orders.popleft()))
            state.untaken += 1

    def _lose(self, state: CollectorState, reason: str, must_replace: bool) -> None:
        """Notes that a collector was lost; the others continue."""
        # Reported once, not at each attempt of a collector that keeps failing.
        if not state.failures:
            self._metrics.replaced += 1
            say(f"collector {state.index} is replaced: {reason}", is_error=True)
        state.lose(time.monotonic())
        if must_replace:
            self._fleet.replace(state.index)


def start_collectors(
    blueprint: Blueprint,
    env: FrameStack,
    model: Model,
    collecting: Collecting,
    seed: int,
    goes_on: Callable[[], bool] = lambda: True,
) -> CollectorSource:
    """Starts collectors on Ray, and returns the source of their segments.

    Args:
        blueprint: parts of each collector.
        env: environments like those that the blueprint makes; they are not stepped.
        model: the model that learns.
        collecting: how many collectors to start, where, and how they collect.
        seed: seed of the run.
        goes_on: called about once a second while waiting for segments; False ends training.

    Raises:
        InputError: there is no connection to Ray, it has too few processors, or frames cannot be sent.
    """
    if not env.keeps_frames:
        raise InputError(
            "collectors send each frame once, and frames of several channels that are stacked as in baselines "
            "cannot be restacked; make FrameStack(..., whole_frames=True), or leave actors out."
        )
    fleet = RayFleet(blueprint, collecting.actors, collecting.ray_address)
    return CollectorSource(fleet, env, model, collecting, seed, goes_on)


def _told(index: int, error: BaseException) -> BaseException:
    """Returns the error, with the number of the collector if it is an error that users see."""
    for kind in (InputError, EnvironmentFailedError):
        if isinstance(error, kind):
            return kind(f"collector {index}: {error}")
    return error
