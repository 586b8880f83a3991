"""Scalar metrics of an update."""

import tensorflow as tf


def explained_variance(prediction: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Computes 1 − var(target − prediction) / var(target), [] float32, from [N, T] each.

    The variances are over all steps at once. As in baselines, a constant target gives −inf, or nan if the error is
    constant too.
    """
    tf.debugging.assert_shapes([(prediction, "NT"), (target, "NT")])
    # Baselines' q_explained_variance (a2c/utils.py).
    return 1.0 - tf.math.reduce_variance(target - prediction) / tf.math.reduce_variance(target)


def share(condition: tf.Tensor) -> tf.Tensor:
    """Computes the share of entries that are True, [] float32, from any shape."""
    return tf.reduce_mean(tf.cast(condition, tf.float32))


def mean_row_norm(x: tf.Tensor) -> tf.Tensor:
    """Computes the mean of the rows' Euclidean norms, [] float32; rows are the last axis of [..., A]."""
    tf.debugging.assert_rank_at_least(x, 1)
    return tf.reduce_mean(tf.norm(x, axis=-1))
