"""The trust region in the space of the policy's statistics (https://arxiv.org/abs/1611.01224, equation 12)."""

from typing import NamedTuple

import tensorflow as tf

EPS = 1e-6


class Projection(NamedTuple):
    """A projected gradient, and the size of the correction.

    Attributes:
        z: [N, T, A] float32, the gradient after the projection.
        k_dot_g: [N, T] float32, kᵀg, the inner product before it.
        adj: [N, T] float32, the multiple of k that was subtracted; 0 where the constraint is inactive.
    """

    z: tf.Tensor
    k_dot_g: tf.Tensor
    adj: tf.Tensor


def project(g: tf.Tensor, k: tf.Tensor, delta: float) -> Projection:
    """Projects each row of `g` onto the half space kᵀz ≤ delta.

        z = g − max(0, (kᵀg − delta) / (‖k‖² + EPS)) k

    Because of baselines' EPS, kᵀz keeps a fraction EPS / (‖k‖² + EPS) of the amount by which kᵀg exceeds delta. This is
    negligible for probabilities, whose ‖k‖² is at least 1, and small for Gaussians unless the mean is within 0.01 σ² of
    the average's.

    Args:
        g: [N, T, A] float32, ascent direction with respect to the policy's statistics.
        k: [N, T, A] float32, gradient of the divergence from the average policy.
        delta: bound on the first-order growth of the divergence.
    """
    tf.debugging.assert_shapes([(g, "NTA"), (k, "NTA")])
    # Equation 12, for each step separately (acer/acer.py:160, :168).
    k_dot_g = tf.reduce_sum(k * g, axis=-1)
    # The closed-form solution of the quadratic programme with one constraint; 0 where the constraint already holds.
    adj = tf.maximum(0.0, (k_dot_g - delta) / (tf.reduce_sum(tf.square(k), axis=-1) + EPS))
    return Projection(z=g - adj[..., tf.newaxis] * k, k_dot_g=k_dot_g, adj=adj)
