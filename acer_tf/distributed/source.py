"""Segments from collectors, for a training loop that does not know where they come from."""

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
"""Longest start-up of a collector, which imports TensorFlow and makes environments."""
LATE_SECONDS = 60.0
"""Seconds of start-up after which it is said that collectors have not begun."""
LONGEST_WAIT = 1.0
"""Seconds of waiting after which signals are looked at and the watchdog is told."""


class _Published(NamedTuple):
    """Weights that collectors can get: how many updates are behind them, and the fleet's handle."""

    version: int
    weights: Any


class _Answer(NamedTuple):
    """Outcome of a call to a collector; without an order, of the call to begin."""

    state: CollectorState
    incarnation: int
    order: Order | None
    outcome: CallResult


class CollectorSource:
    """A `SegmentSource` whose segments are collected elsewhere, with the weights of a few updates ago.

    Each collector has `actor_depth` orders. When the loop takes a segment, its collector gets the next order, with the
    newest weights, before the loop trains. So no more segments are ever ahead of the learner than there are orders, and
    staleness is bounded: by Little's law it is, in updates, orders × (1 + replay_ratio) / segments_per_update.

    Attributes:
        episodes: whole episodes that ended in the last segment.
        first_env: index of its first environment among those of all collectors.
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
        """Takes over the collectors, which begin with the first `run`; see `start_collectors` for the arguments."""
        self.episodes: list[Episode] = []
        self.first_env = 0
        self.dropped: list[tuple[int, Segment]] = []
        self._fleet, self._signature, self._model = fleet, Signature.of(env), model
        self._collecting, self._seed, self._goes_on = collecting, seed, goes_on
        # One state a collector, whichever process is behind it at the time.
        self._states = [CollectorState(index) for index in range(collecting.actors)]
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()  # filled by threads of the fleet
        self._arrived: deque[tuple[CollectorState, Order]] = deque()
        self._published: _Published | None = None
        self._metrics, self._start = CollectorMetrics(), time.monotonic()
        self._has_said_late = False

    def run(self, after_step: AfterStep | None = None) -> Segment:
        """Returns the next segment that is not too stale; waits for it.

        Raises:
            InputError: a collector cannot work with these settings or environments.
            EnvironmentFailedError: an environment of a collector raised an error, or gave a number that is not finite.
            TrainingStoppedError: `goes_on` returned False while this waited.
        """
        self.episodes, self.dropped = [], []
        assert after_step is None, "callbacks cannot follow collectors"
        index, collected = self._take()
        self._submit_orders()  # the collector goes on while the loop trains
        self._count(index, collected)
        self.first_env = self._first_env(index)
        return collected.whole_segment()

    def restart(self, seed: int, is_recorded: bool) -> None:
        """Starts new episodes in all collectors; what they are collecting is dropped, and nothing is recorded."""
        self._seed = seed
        self._published = None  # the model may have been given other weights without an update
        self._arrived.clear()
        # Answers that are still on their way belong to an older incarnation, and are ignored.
        for state in self._states:
            state.begin_again()
            state.untaken = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the time so far; environments that are stepped elsewhere cannot be restored."""
        return {"seconds": time.monotonic() - self._start}

    def load_state_dict(self, state: Mapping[str, Any], heartbeat: Callable[[], object] = lambda: None) -> bool:
        """Restores the time; returns False, since the collectors have to start new episodes."""
        self._start = time.monotonic() - state["seconds"]
        return False

    def metrics(self) -> dict[str, float]:
        """Returns the metrics of collecting since the last row; worker processes of Atari games are not counted."""
        return {"workers_replaced": 0, **self._metrics.row(sum(state.is_begun for state in self._states))}

    def close(self) -> None:
        """Ends the collectors; may be called again."""
        self._fleet.close()

    def _first_env(self, index: int) -> int:
        # Environments are numbered over all collectors, so that logs tell them apart.
        return index * self._signature.num_env

    def _count(self, index: int, collected: Collected) -> None:
        """Adds a segment's episodes to those that have ended."""
        first, seconds = self._first_env(index), time.monotonic() - self._start  # the clock goes on with a resumed run
        self.episodes += [e._replace(env=first + e.env, t=seconds) for e in collected.episodes]

    def _take(self) -> tuple[int, Collected]:
        """Returns the next segment that is not too stale, and the number of its collector."""
        began, most = time.monotonic(), self._collecting.max_staleness
        while True:
            self._submit_orders()
            self._wait()
            state, order = self._arrived.popleft()
            state.untaken -= 1
            # Importance weights correct for old weights as they do for replay; learning may still suffer from very old.
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
        """Gives every collector as many orders as it may have, except lost ones whose time has not come."""
        now = time.monotonic()
        for state in self._states:
            if state.asked_at is not None or now >= state.retry_at:
                self._submit(state, now)

    def _submit(self, state: CollectorState, now: float) -> None:
        """Starts the collector and submits pending orders."""
        timeout = self._collecting.actor_timeout
        # A process that is new, or was restarted by Ray, makes its environments first.
        if state.asked_at is None:
            state.asked_at, state.deadline = now, now + START_SECONDS + timeout
            # A collector that is replaced must not play the same episodes again.
            seed = derived_seed(self._seed, state.index, state.incarnation)
            self._fleet.begin(state.index, seed, self._teller(state, None))
        # The clock of silence starts with the first order: an idle collector owes nothing.
        if state.is_begun and not state.orders:
            state.deadline = now + timeout
        # What waits untaken counts as well: a slow learner is not flooded.
        while len(state.orders) + state.untaken < self._collecting.actor_depth:
            version, weights = self._newest()
            order = Order(version)
            state.orders.append(order)
            self._fleet.collect(state.index, weights, self._teller(state, order))

    def _newest(self) -> _Published:
        """Returns the published weights, new ones if they are due; those that no order needs any more are freed."""
        updates, how = self._model.updates, self._collecting
        # One copy in the object store serves all collectors until it is too old: what it gives must not be dropped.
        lifetime = how.publish_every if how.max_staleness is None else min(how.publish_every, how.max_staleness + 1)
        if self._published is None or updates - self._published.version >= lifetime:
            self._published = _Published(updates, self._fleet.publish([p.numpy() for p in self._model.params]))
        return self._published

    def _teller(self, state: CollectorState, order: Order | None) -> Tell:
        # Called in a thread of Ray's: it only queues, and the loop's thread decides.
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
            self._submit_orders()  # the time of lost collectors may have come
            try:
                self._handle(self._answers.get(timeout=min(self._seconds_to_next(), LONGEST_WAIT)))
            except queue.Empty:
                continue

    def _stopped(self) -> TrainingStoppedError:
        """Returns the error of a segment that was given up before its first step."""
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
        """Says once how many collectors have not begun though they have had the time."""
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
        """Returns the seconds until a collector has to answer, or may begin again; all have orders or are lost."""
        times = [state.retry_at if state.asked_at is None else state.deadline for state in self._states]
        return max(min(times) - time.monotonic(), 0.01)

    def _handle(self, answer: _Answer) -> None:
        state, _, order, outcome = answer
        if answer.incarnation != state.incarnation:
            return  # an answer of a process that has been given up, or from before a restart
        # A non-retryable error ends the run: other collectors would meet it as well.
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
        """Checks once, as a collector begins, that its segments will be of the shapes and dtypes of this run."""
        for name, theirs, ours in zip(Signature._fields, signature, self._signature, strict=True):
            if theirs != ours:
                raise InputError(
                    f"collector {state.index} has {name} {theirs}, but the learner {ours}; every node needs the same "
                    "versions of this package and of the environments."
                )

    def _accept(self, state: CollectorState) -> None:
        """Takes in the segments of a collector in the order of its episodes: a large one may arrive after the next."""
        state.failures = 0
        # Episodes and recurrent states go on from segment to segment, so their order counts.
        while state.orders and state.orders[0].collected is not None:
            self._arrived.append((state, state.orders.popleft()))
            state.untaken += 1

    def _lose(self, state: CollectorState, reason: str, must_replace: bool) -> None:
        """Notes that a collector was lost; the others go on."""
        # Said once, not at each attempt of a collector that keeps failing.
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
    """Starts collectors on Ray, and returns the segments that they collect.

    Args:
        blueprint: what each collector is made of.
        env: environments as the blueprint makes them; they are not stepped.
        model: the model that learns.
        collecting: how many collectors, where, and how they collect.
        seed: of the run.
        goes_on: called about once a second while segments are waited for; False ends training.

    Raises:
        InputError: there is no connection to Ray, or it has too few processors, or frames cannot be sent.
    """
    if not env.keeps_frames:
        raise InputError(
            "collectors send each frame once, and frames of several channels that are stacked as in baselines "
            "cannot be restacked; make FrameStack(..., whole_frames=True), or leave actors out."
        )
    fleet = RayFleet(blueprint, collecting.actors, collecting.ray_address)
    return CollectorSource(fleet, env, model, collecting, seed, goes_on)


def _told(index: int, error: BaseException) -> BaseException:
    """Returns the error with the number of the collector, if it is one that users see."""
    for kind in (InputError, EnvironmentFailedError):
        if isinstance(error, kind):
            return kind(f"collector {index}: {error}")
    return error
