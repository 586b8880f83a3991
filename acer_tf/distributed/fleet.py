"""Collectors as Ray actors, and the outcome of a call to one of them."""

import dataclasses
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

from acer_tf.config import Config
from acer_tf.distributed.collector import Blueprint, Collected, Collector, NotBegunError, Signature, Weights
from acer_tf.distributed.connection import connected
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.system.compute import cores


class Lost(NamedTuple):
    """Outcome of a call to a process that died, was restarted, or cannot be reached.

    Attributes:
        reason: the reason, in one sentence.
        is_gone: whether no process will replace it automatically.
    """

    reason: str
    is_gone: bool


CallResult = Signature | Collected | Lost | BaseException
"""Result of `begin` or `collect`, or the reason why there is none; an exception means not to retry."""
Tell = Callable[[CallResult], None]
"""Function to call with the outcome, from any thread."""


class Fleet(Protocol):
    """Numbered collectors."""

    def publish(self, weights: Weights) -> Any:
        """Returns a handle to the weights."""

    def begin(self, index: int, seed: int, tell: Tell) -> None:
        """Calls `Collector.begin`."""

    def collect(self, index: int, weights: Any, tell: Tell) -> None:
        """Calls `Collector.collect` with a handle to weights; a collector handles its calls in order."""

    def replace(self, index: int) -> None:
        """Ends the process of a collector and starts another."""

    def close(self) -> None:
        """Ends all processes; may be called again."""


class RayFleet:
    """Collectors on Ray, one processor each, spread over the nodes.

    Ray restarts an actor whenever its process or node is lost, but does not repeat its calls: what it was collecting
    began with weights that are old by then, so the learner places new orders.
    """

    def __init__(self, blueprint: Blueprint, count: int, address: str | None) -> None:
        """Connects to Ray, at an address as for `connected`, and starts the processes.

        Raises:
            InputError: there is no connection, or the cluster has too few processors.
        """
        stack = ExitStack()
        self._ray = ray = stack.enter_context(connected(address, cpus=max(cores(), count)))
        self._end = weakref.finalize(self, stack.close)  # at the latest when the process ends
        # More actors than processors would wait forever, without a message.
        if (cpus := int(ray.cluster_resources().get("CPU", 0))) < count:
            self.close()
            raise InputError(
                f"actors is {count}, but the Ray cluster has {cpus} processors, and a collector takes one; start its "
                "nodes with more (ray start --num-cpus), or take fewer actors."
            )
        options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        self._class = ray.remote(**options)(Collector)
        # Only the learner uses these two, and they may be objects of its process.
        config = dataclasses.replace(blueprint.config, optimizer=Config.optimizer, lrschedule=Config.lrschedule)
        self._blueprint = dataclasses.replace(blueprint, config=config)
        self._actors = [self._started() for _ in range(count)]

    def publish(self, weights: Weights) -> Any:
        """Puts the weights into the object store, from which every node fetches them once."""
        return self._ray.put(list(weights))

    def begin(self, index: int, seed: int, tell: Tell) -> None:
        """Calls `Collector.begin`."""
        self._call(lambda: self._actors[index].begin.remote(seed), tell)

    def collect(self, index: int, weights: Any, tell: Tell) -> None:
        """Calls `Collector.collect`."""
        self._call(lambda: self._actors[index].collect.remote(weights), tell)

    def replace(self, index: int) -> None:
        """Kills an actor and starts another."""
        # Ray restarts lost processes, but a silent one must be replaced by a new actor.
        self._ray.kill(self._actors[index])
        self._actors[index] = self._started()

    def close(self) -> None:
        """Kills all actors, and disconnects from Ray if this fleet has connected to it."""
        if self._end.alive:
            for actor in getattr(self, "_actors", ()):
                self._ray.kill(actor)
            self._end()

    def _started(self) -> Any:
        return self._class.remote(self._blueprint)

    def _call(self, call: Callable[[], Any], tell: Tell) -> None:
        try:
            # A callback, as waiting for each of many results in turn would take long.
            future = call().future()
        except self._ray.exceptions.RayError as error:
            tell(self._outcome(error))
            return
        future.add_done_callback(
            lambda done: tell(done.result() if (error := done.exception()) is None else self._outcome(error))
        )

    def _outcome(self, error: BaseException) -> Lost | BaseException:
        """Returns the meaning of an error."""
        exceptions = self._ray.exceptions
        if isinstance(error, exceptions.RayTaskError):  # raised in the collector
            cause = error.cause
            if isinstance(cause, NotBegunError):
                return Lost("it was restarted", is_gone=False)
            return cause if isinstance(cause, InputError | EnvironmentFailedError) else error
        # The constructor itself cannot fail; importing what the blueprint names can.
        if isinstance(error, exceptions.ActorDiedError) and "creation task" in str(error):
            return InputError(
                "a collector cannot be made: its environments and its network have to be modules or functions that "
                f"other processes can import ({' '.join(str(error).split())[-400:]})"
            )
        if isinstance(error, exceptions.RayError):
            is_gone = isinstance(error, exceptions.ActorDiedError)
            return Lost(" ".join(str(error).split(". ")[0].split()), is_gone)
        return error
