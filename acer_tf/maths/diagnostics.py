"""Scalar metrics of an update."""

import tensorflow as tf


def explained_variance(prediction: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Computes 1 − var(target − prediction) / var(target), [] float32, of [N, T] each.

    Over all steps at once, and for a constant target −inf, or nan where the error is constant as well, as in baselines.
    """
    tf.debugging.assert_shapes([(prediction, "NT"), (target, "NT")])
    # Baselines' q_explained_variance (a2c/utils.py).
    return 1.0 - tf.math.reduce_variance(target - prediction) / tf.math.reduce_variance(target)


def share(condition: tf.Tensor) -> tf.Tensor:
    """Computes the share of True among the entries, of any shape: [] float32."""
    return tf.reduce_mean(tf.cast(condition, tf.float32))


def mean_row_norm(x: tf.Tensor) -> tf.Tensor:
    """Computes the mean of the rows' Euclidean norms, [] float32; rows are the last axis of [..., A]."""
    tf.debugging.assert_rank_at_least(x, 1)
    return tf.reduce_mean(tf.norm(x, axis=-1))
