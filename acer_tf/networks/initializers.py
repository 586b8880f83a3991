"""Orthogonal initial weights, drawn from numpy's generator as in baselines."""

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray


def orthogonal(shape: tuple[int, ...], scale: float, rng: np.random.RandomState) -> NDArray[np.float32]:
    """Draws a weight array that is orthogonal with all axes but the last flattened (baselines, `a2c/utils.py`).

    Args:
        shape: shape of the weight, output axis last.
        scale: gain.
        rng: numpy's generator; one normal draw of the flattened shape is taken from it.

    Returns:
        [*shape] float32.
    """
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
