"""Orthogonal initial weights, drawn from numpy's generator as in baselines."""

import math

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.system.console import in_bytes
from acer_tf.system.container import free_memory

DRAWN_ARRAYS = 2
"""Float64 arrays of a weight's shape that are there at once while it is drawn."""


def orthogonal(shape: tuple[int, ...], scale: float, rng: np.random.RandomState) -> NDArray[np.float32]:
    """Draws a weight array that is orthogonal with all axes but the last flattened (baselines, `a2c/utils.py`).

    Args:
        shape: shape of the weight, output axis last.
        scale: gain.
        rng: numpy's generator; one normal draw of the flattened shape is taken from it.

    Returns:
        [*shape] float32.

    Raises:
        InputError: what this computes does not fit into memory.
    """
    needed, free = DRAWN_ARRAYS * 8 * math.prod(shape), free_memory()
    if needed > free:
        raise InputError(
            f"to draw a weight of shape {shape} would take {in_bytes(needed)}, but {in_bytes(free)} are free; expected "
            "a smaller network"
        )
    flat_shape = (int(np.prod(shape[:-1])), shape[-1])
    u, _, v = np.linalg.svd(rng.normal(0.0, 1.0, flat_shape), full_matrices=False)
    q = u if u.shape == flat_shape else v
    return (scale * q.reshape(shape)).astype(np.float32)


class Orthogonal(keras.initializers.Initializer):
    """`orthogonal` for Keras layers: the draws follow the order in which the layers are built."""

    def __init__(self, scale: float, rng: np.random.RandomState) -> None:
        """Creates the initialiser; `scale` is the gain, `rng` numpy's generator."""
        self.scale = scale
        self.rng = rng

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None) -> tf.Tensor:
        """Draws a weight of this shape, float32 whatever `dtype` is."""
        return tf.constant(orthogonal(tuple(shape), self.scale, self.rng))
