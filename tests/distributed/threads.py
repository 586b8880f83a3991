"""Collectors in threads of this process, whose timing a test decides, or without threads, in turns."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from numpy.random import RandomState

from acer_tf.acer import RemoteSegments, TrainingLoop
from acer_tf.config import CONTINUOUS, Collecting, Config, Continuous
from acer_tf.distributed.collector import Blueprint, Collected, Collector, NotBegunError, Weights
from acer_tf.distributed.fleet import CallResult, Lost, Tell
from acer_tf.distributed.source import CollectorSource
from acer_tf.envs.make import make_training_env
from acer_tf.learning import make_loop
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from acer_tf.policies.make import make_policy
from acer_tf.segment import Segment

Delay = Callable[[int, int], float]
"""Seconds before a collector, by number, collects a segment, by number of its segments."""


class ThreadFleet:
    """Each collector has a thread; `kill` loses what it has, as the death of a process would.

    Without a delay there are no threads: calls are answered at once, so that the collectors deliver in turns.
    """

    def __init__(self, blueprint: Blueprint, count: int, delay: Delay | None) -> None:
        self.blueprint, self.delay = blueprint, delay
        self.collectors = [Collector(blueprint) for _ in range(count)]
        self.threads = [ThreadPoolExecutor(1) for _ in range(count)]
        self.numbers = [0] * count
        self.seeds: list[tuple[int, int]] = []
        self.is_closed = False

    def publish(self, weights: Weights) -> Any:
        return [array.copy() for array in weights]

    def begin(self, index: int, seed: int, tell: Tell) -> None:
        self.seeds.append((index, seed))
        self._call(index, lambda collector: collector.begin(seed), tell)

    def collect(self, index: int, weights: Any, tell: Tell) -> None:
        number = self.numbers[index] = self.numbers[index] + 1

        def collected(collector: Collector) -> Collected:
            if self.delay is not None:
                time.sleep(self.delay(index, number))
            return collector.collect(weights)

        self._call(index, collected, tell)

    def replace(self, index: int) -> None:
        self.kill(index)

    def kill(self, index: int) -> None:
        self.collectors[index] = Collector(self.blueprint)

    def close(self) -> None:
        self.is_closed = True
        for thread in self.threads:
            thread.shutdown()

    def _call(self, index: int, call: Callable[[Collector], Any], tell: Tell) -> None:
        before = self.collectors[index]

        def called() -> None:
            outcome: CallResult
            try:
                outcome = call(before)
            except NotBegunError:
                outcome = Lost("it was restarted", is_gone=False)
            except Exception as error:
                outcome = error
            tell(outcome if self.collectors[index] is before else Lost("it was killed", is_gone=False))

        if self.delay is None:
            called()
        else:
            self.threads[index].submit(called)


def loop(
    actors: int = 2,
    delay: Delay | None = None,
    seed: int = 0,
    env_id: str = "CartPole-v1",
    network: str = "mlp",
    network_kwargs: Any = None,
    logger: Logger | None = None,
    continuous: Continuous = CONTINUOUS,
    collecting: Any = None,
    learns: bool = False,
    **config: Any,
) -> tuple[TrainingLoop, ThreadFleet, CollectorSource]:
    """A training loop with collectors of two environments each, and segments of 5 steps.

    Unless it learns, nothing but the number of updates changes, and TensorFlow need not trace them.
    """
    settings = {"nsteps": 5, "total_timesteps": 10_000, "replay_start": 30, "buffer_size": 100, "log_interval": 1000}
    settings |= {} if learns else {"replay_ratio": 0, "log_interval": 3}
    full = Config(**(settings | config))
    kwargs = {"num_layers": 1, "num_hidden": 4} if network_kwargs is None else network_kwargs
    rng = RandomState(seed)

    def make_env() -> Any:
        return make_training_env(env_id, 2)

    env = make_env()
    spaces = env.single_observation_space, env.single_action_space
    model = Model(make_policy(network, *spaces, rng, seed, continuous, full.precision, **kwargs), full, seed)
    if not learns:
        model.__class__ = Counting
    how = Collecting(actors=actors, **(collecting or {}))
    fleet = ThreadFleet(Blueprint(make_env, network, kwargs, full, continuous), actors, delay)
    source = CollectorSource(fleet, env, model, how, seed)
    remote = RemoteSegments(source, actors, how.segments_per_update)
    return make_loop(env, model, rng, seed, logger or Logger(), remote=remote), fleet, source


class Counting(Model):
    """Counts updates in the place of making them."""

    def train(self, segment: Segment, lr: float) -> None:
        self.updates += 1

    def report(self, segment: Segment) -> dict[str, float]:
        return {"loss": float(len(segment.obs))}


def train(acer: TrainingLoop, iterations: int) -> None:
    last = acer.steps + iterations * acer.nbatch
    acer.learn(lambda: acer.steps >= last)
