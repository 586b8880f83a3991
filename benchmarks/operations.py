"""How near layers come to the machine's rate of matrix products: `python -m benchmarks.operations`.

The bound of a train step counts every operation at that rate. What layers reach by themselves, with nothing around
them, says how much of the gap is theirs.
"""

import dataclasses
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf
from gymnasium.spaces import Box

from acer_tf.agent.threads import use_threads
from acer_tf.commands.cli import guarded, parse
from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.system.allocator import keep_freed_memory
from acer_tf.system.threads import cores
from benchmarks.flops import layers_and_flops
from benchmarks.loop import matmul_flops_per_second

ROUNDS = 15
FRAMES = Box(0, 255, (84, 84, 4), np.uint8)


@dataclasses.dataclass(frozen=True)
class Operations:
    """Measures each layer of the Nature network, forward and backward, against the machine's rate."""

    rows: int = 336
    """Observations that pass at once; 336 are those of 16 environments, 20 steps and the bootstrap step."""


def passes(layer: keras.layers.Layer, rows: int) -> dict[str, Callable[[], object]]:
    """Returns what runs a layer forward; forward and back into its kernel; and back into its input as well."""
    is_bytes = layer.input.dtype == "uint8"
    x = tf.cast(tf.random.uniform([rows, *layer.input.shape[1:]], 0, 255), layer.input.dtype)
    upstream = tf.random.normal([rows, *layer.output.shape[1:]])

    def backward(*sources: tf.Tensor) -> Callable[[], object]:
        return lambda: tf.gradients(layer(x), sources, upstream)

    both = {} if is_bytes else {"input": backward(layer.kernel.value, x)}
    functions = {"forward": lambda: layer(x), "kernel": backward(layer.kernel.value), **both}
    return {name: tf.function(function, autograph=False) for name, function in functions.items()}


def multiples_of_bound(layer: keras.layers.Layer, flops: int, rows: int) -> dict[str, float]:
    """Measures how long each pass takes by itself, as a multiple of what it would take at the machine's rate."""
    functions, multiples = passes(layer, rows), defaultdict(list)
    for _ in range(ROUNDS):
        bound, before = rows * flops / matmul_flops_per_second(), 0.0
        for name, function in functions.items():
            seconds = _seconds(function)
            multiples[name].append((seconds - before) / bound)
            before = seconds
    return {name: statistics.median(values) for name, values in multiples.items()}


def _seconds(function: Callable[[], object]) -> float:
    function()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the measurement; returns the exit status."""
    flags = parse("benchmarks.operations", Operations, argv)
    use_threads(cores())
    keep_freed_memory()
    network = ActorCritic("cnn", FRAMES, 4, np.random.RandomState(0))
    needed = taken = 0.0
    print("share of the rate of matrix products\nlayer    forward  kernel   input")
    for layer, flops in layers_and_flops(network)[:4]:
        multiples = multiples_of_bound(layer, flops, flags.rows)
        print(f"{layer.name:<8}" + "".join(f"{1 / multiple:8.2f}" for multiple in multiples.values()))
        needed += flops * (1 + len(multiples))  # the average policy passes forward as well
        taken += flops * (multiples["forward"] + sum(multiples.values()))
    print(f"all passes of an update together: {needed / taken:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
