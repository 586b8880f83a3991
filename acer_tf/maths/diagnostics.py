"""Scalars that are logged about an update."""

import tensorflow as tf


def explained_variance(prediction: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Computes 1 − var(target − prediction) / var(target), [] float32; −inf for a constant target, as in baselines."""
    return 1.0 - tf.math.reduce_variance(target - prediction) / tf.math.reduce_variance(target)


def share(condition: tf.Tensor) -> tf.Tensor:
    """Computes which share of the entries is True, [] float32."""
    return tf.reduce_mean(tf.cast(condition, tf.float32))


def mean_row_norm(x: tf.Tensor) -> tf.Tensor:
    """Computes the mean over rows of the Euclidean norm of the last axis, [] float32."""
    return tf.reduce_mean(tf.norm(x, axis=-1))
