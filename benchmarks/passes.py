"""Times single layers, forward and backward, against the machine's rate of matrix products."""

import statistics
from collections import defaultdict
from collections.abc import Callable

import keras
import tensorflow as tf

from benchmarks import seconds
from benchmarks.loop import matmul_flops_per_second

ROUNDS = 15


def passes(layer: keras.layers.Layer, rows: int) -> dict[str, Callable[[], object]]:
    """Returns functions that run a layer forward, backward into its kernel, and backward into kernel and input."""
    is_bytes = layer.input.dtype == "uint8"
    x = tf.cast(tf.random.uniform([rows, *layer.input.shape[1:]], 0, 255), layer.input.dtype)
    upstream = tf.random.normal([rows, *layer.output.shape[1:]])

    def backward(*sources: tf.Tensor) -> Callable[[], object]:
        return lambda: tf.gradients(layer(x), sources, upstream)

    both = {} if is_bytes else {"input": backward(layer.kernel.value, x)}
    functions = {"forward": lambda: layer(x), "kernel": backward(layer.kernel.value), **both}
    return {name: tf.function(function, autograph=False) for name, function in functions.items()}


def multiples_of_bound(layer: keras.layers.Layer, flops: int, rows: int) -> dict[str, float]:
    """Measures each pass separately, as a multiple of its time at the machine's rate."""
    functions, multiples = passes(layer, rows), defaultdict(list)
    for _ in range(ROUNDS):
        bound, before = rows * flops / matmul_flops_per_second(), 0.0
        for name, function in functions.items():
            function()  # once before the clock starts
            spent = seconds(function)
            multiples[name].append((spent - before) / bound)
            before = spent
    return {name: statistics.median(values) for name, values in multiples.items()}
