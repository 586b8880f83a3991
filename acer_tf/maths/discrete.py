"""ACER's policy gradient for discrete actions, as an objective of the probabilities `f` (equations 7 to 9).

https://arxiv.org/abs/1611.01224. Every factor that multiplies a logarithm is a constant, so the gradient of the
objective is the paper's estimator. Letters: N environments, T steps, A actions.
"""

from typing import NamedTuple

import tensorflow as tf

# Added wherever baselines adds it (acer/acer.py:115 to 160). It affects the results, so entropy and divergence are not
# taken from tfp.distributions; the tests bound the difference.
EPS = 1e-6


class Gain(NamedTuple):
    """The objective of the policy gradient, step by step, and its factors.

    Attributes:
        f: [N, T], the truncated importance-weighted term.
        bc: [N, T], the bias correction.
        adv: [N, T], advantage of the action taken.
        adv_bc: [N, T, A], advantage of every action.
        logf: [N, T], log-probability of the action taken.
        logf_bc: [N, T, A], log-probabilities.
    """

    f: tf.Tensor
    bc: tf.Tensor
    adv: tf.Tensor
    adv_bc: tf.Tensor
    logf: tf.Tensor
    logf_bc: tf.Tensor


def select(x: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
    """Selects the entries of the actions taken, [N, T], from x [N, T, A] float32 by actions [N, T] integer."""
    tf.debugging.assert_shapes([(x, "NTA"), (actions, "NT")])
    return tf.reduce_sum(x * tf.one_hot(actions, x.shape[-1], dtype=x.dtype), axis=-1)


def importance_ratio(f: tf.Tensor, mu: tf.Tensor) -> tf.Tensor:
    """Computes ρ = f / (μ + EPS) of every action, [..., A]. Even on-policy it is slightly below 1."""
    tf.debugging.assert_shapes([(f, (..., "A")), (mu, (..., "A"))])
    # EPS keeps the ratio finite where μ is 0.
    return f / (mu + EPS)


def gain(
    f: tf.Tensor, q: tf.Tensor, v: tf.Tensor, q_ret: tf.Tensor, rho: tf.Tensor, actions: tf.Tensor, c: float
) -> Gain:
    """Computes the objective whose gradient is ĝ_acer (equation 9).

        min(c, ρᵢ) (q_ret − v) log fᵢ  +  Σₐ max(0, 1 − c/ρ) f (q − v) log f

    Args:
        f: [N, T, A] float32, probabilities; gradients flow through no other argument.
        q: [N, T, A] float32.
        v: [N, T] float32.
        q_ret: [N, T] float32, Retrace targets.
        rho: [N, T, A] float32, importance ratios.
        actions: [N, T] integer, actions taken.
        c: truncation of the importance ratio.
    """
    tf.debugging.assert_shapes([(f, "NTA"), (q, "NTA"), (rho, "NTA"), (v, "NT"), (q_ret, "NT"), (actions, "NT")])
    # First term: the action taken, with its weight truncated at c (acer/acer.py:134).
    adv = q_ret - v
    logf = tf.math.log(select(f, actions) + EPS)
    truncated = tf.stop_gradient(adv * tf.minimum(select(rho, actions), c))

    # Second term: the bias correction, an expectation over all actions; it acts where ρ > c (acer/acer.py:141).
    adv_bc = q - v[..., tf.newaxis]
    logf_bc = tf.math.log(f + EPS)
    correction = tf.stop_gradient(adv_bc * tf.nn.relu(1.0 - c / (rho + EPS)) * f)
    return Gain(
        f=logf * truncated,
        bc=tf.reduce_sum(logf_bc * correction, axis=-1),
        adv=adv,
        adv_bc=adv_bc,
        logf=logf,
        logf_bc=logf_bc,
    )


def entropy(f: tf.Tensor) -> tf.Tensor:
    """Computes −Σₐ f log(f + EPS), [...], from f [..., A]; because of EPS, not quite the distribution's entropy."""
    tf.debugging.assert_rank_at_least(f, 1)
    return -tf.reduce_sum(f * tf.math.log(f + EPS), axis=-1)


def kl(f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
    """Computes KL(f_avg ‖ f) = Σₐ f_avg (log f_avg − log f), [...], from [..., A]; both logarithms include EPS."""
    tf.debugging.assert_shapes([(f_avg, (..., "A")), (f, (..., "A"))])
    return tf.reduce_sum(f_avg * (tf.math.log(f_avg + EPS) - tf.math.log(f + EPS)), axis=-1)


def kl_gradient(f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
    """Computes k = ∇_f KL(f_avg ‖ f) = −f_avg / (f + EPS) (section 3.3): [..., A]."""
    tf.debugging.assert_shapes([(f_avg, (..., "A")), (f, (..., "A"))])
    # Large for actions that the average policy takes and f does not: there the trust region binds.
    return -f_avg / (f + EPS)
