"""Measures the speed of the train step and of the complete loop."""

import contextlib
import math
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from acer_tf.acer import TrainingLoop
from acer_tf.buffer import Buffer
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.model import Model

ROUNDS = 7
CALLS_PER_ROUND = 5
MATRIX = 2048
WARM_UP = 5
"""Iterations before the clock starts, in which TensorFlow traces its functions."""


class EvenUpdates(np.random.RandomState):
    """A random stream that replaces Poisson draws by whole numbers that add up to their mean.

    A slow loop makes so few iterations within seconds that the drawn numbers of updates would decide its speed.
    """

    _sum = 0.0

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Returns the next number; `size` is not supported."""
        before, self._sum = self._sum, self._sum + lam
        return math.floor(self._sum) - math.floor(before)


def matmul_flops_per_second(precision: str = "float32") -> float:
    """Measures the machine's rate of matrix products of size [2048, 2048]."""
    a = tf.cast(tf.random.normal((MATRIX, MATRIX)), precision)
    seconds = _seconds(lambda: tf.linalg.matmul(a, a))
    return float(2 * MATRIX**3 / seconds)


def train_step(model: Model, buffer: Buffer, flops: int) -> dict[str, float]:
    """Measures train calls, in each round beside the machine's own rate in this precision; returns medians."""
    precision = model.config.precision
    segment = buffer.get(np.random.RandomState(0))
    model.train(segment, 0.0)
    rates, milliseconds, bounds = [], [], []
    for _ in range(ROUNDS):
        rate = matmul_flops_per_second(precision)
        seconds = _seconds(lambda: model.train(segment, 0.0))
        rate = (rate + matmul_flops_per_second(precision)) / 2
        rates.append(rate)
        milliseconds.append(1e3 * seconds)
        bounds.append(flops / rate / seconds)
    return {
        "train_call_ms": statistics.median(milliseconds),
        "bound_share": statistics.median(bounds),
        "matmul_gflops": statistics.median(rates) / 1e9,
    }


def loop(acer: TrainingLoop, env: FrameStack, env_part: str, seconds: float) -> dict[str, Any]:
    """Runs the loop, with all functions traced and the mean number of updates in each iteration, and times its parts.

    Args:
        acer: the loop.
        env: the environments that it steps.
        env_part: name of their share, without the wrappers around them.
        seconds: duration of the measurement.

    Returns:
        Environment steps per second, each part's `share` of the time, and the time of storing and drawing relative to
        collecting and training. With `overlap`, `share` refers to the thread that trains, where `rest` is mostly
        waiting, and `share_beside` to the thread that collects.
    """
    acer._rng = EvenUpdates(0)
    first = acer.steps
    acer.learn(lambda: acer.steps >= first + WARM_UP * acer.nbatch)
    parts = {
        env_part: (env.unwrapped, "step"),
        "wrappers": (env, "step"),
        "acting": (acer.actor, "act"),
        "replay:put": (acer.buffer, "put"),
        "replay:get": (acer.buffer, "get"),
        "training": (acer.model, "train"),
        "training:many": (acer.model, "train_many"),
        "training:report": (acer.model, "train_and_report"),
    }
    clock = Clock()
    with contextlib.ExitStack() as stack:
        for part, (owner, method) in parts.items():
            stack.enter_context(clock.timing(owner, method, part))
        start, steps = time.perf_counter(), acer.steps
        acer.learn(lambda: time.perf_counter() - start > seconds)
        elapsed = time.perf_counter() - start
    shares = []
    for spent in (clock.spent, clock.spent_beside):
        share: dict[str, float] = defaultdict(float)
        for part, value in spent.items():
            share[part.split(":")[0]] += value / elapsed
        if "wrappers" in share:
            share["wrappers"] -= share[env_part]
        shares.append(dict(share))
    share, beside = shares
    collecting = sum(share.get(part, 0) + beside.get(part, 0) for part in (env_part, "wrappers", "acting"))
    return {
        "env_steps_per_s": (acer.steps - steps) / elapsed,
        "share": share | {"rest": 1 - sum(share.values())},
        "share_beside": beside,
        "storing_of_collecting": clock.spent["replay:put"] / elapsed / collecting,
        "drawing_of_training": clock.spent["replay:get"] / elapsed / share["training"],
    }


class Clock:
    """Sums up the time spent in methods.

    Attributes:
        spent: seconds of each part in the thread that trains.
        spent_beside: seconds of each part in other threads.
    """

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.spent_beside: dict[str, float] = defaultdict(float)
        self._under_way: set[tuple[str, int]] = set()

    @contextlib.contextmanager
    def timing(self, owner: Any, method: str, part: str) -> Iterator[None]:
        """Measures calls of a method while the block runs, except calls from other methods of the same part."""
        original = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            group = part.split(":")[0], threading.get_ident()
            if group in self._under_way:
                return original(*args, **kwargs)
            self._under_way.add(group)
            start = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                is_main = threading.current_thread() is threading.main_thread()
                spent = self.spent if is_main else self.spent_beside
                spent[part] += time.perf_counter() - start
                self._under_way.remove(group)

        setattr(owner, method, timed)
        try:
            yield
        finally:
            delattr(owner, method)


def device_memory_mib() -> float | None:
    """Returns the peak memory use of the first GPU, or None without one."""
    if not tf.config.list_physical_devices("GPU"):
        return None
    return float(tf.config.experimental.get_memory_info("GPU:0")["peak"] / 2**20)


def _seconds(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    for _ in range(CALLS_PER_ROUND):
        call()
    tf.test.experimental.sync_devices()
    return (time.perf_counter() - start) / CALLS_PER_ROUND
