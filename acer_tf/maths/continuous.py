"""ACER for continuous actions: a Gaussian policy with diagonal covariance and a stochastic dueling network.

https://arxiv.org/abs/1611.01224, section 5 and algorithm 3. Densities are those of unclipped actions. Both returns come
from `acer_tf.maths.retrace`: q_ret with the trace ρ^(1/D), q_opc with the trace 1.

Letters: N environments, T steps, D dimensions of an action, K actions to evaluate, n actions sampled.
"""

import math
from typing import NamedTuple

import tensorflow as tf

# Densities, entropy and divergence are written out rather than taken from tfp.distributions, which expects σ (a learned
# log σ would pass through exp and log) and rounds differently. The tests compare the two.


class Gain(NamedTuple):
    """The objective of the policy gradient, step by step, and its factors.

    Attributes:
        f: [N, T], the truncated importance-weighted term.
        bc: [N, T], the bias correction, from one sampled action.
        adv: [N, T], advantage of the action taken.
        adv_bc: [N, T], advantage of the sampled action.
    """

    f: tf.Tensor
    bc: tf.Tensor
    adv: tf.Tensor
    adv_bc: tf.Tensor


def log_density(x: tf.Tensor, mean: tf.Tensor, log_sigma: tf.Tensor) -> tf.Tensor:
    """Computes log N(x; mean, diag σ²), [...], from arguments [..., D], which may broadcast."""
    tf.debugging.assert_shapes([(x, (..., "D")), (mean, (..., "D")), (log_sigma, (..., "D"))])
    # z = (x − mean) / σ; exp(−log σ) rather than a division keeps the gradient simple.
    z = (x - mean) * tf.exp(-log_sigma)
    return -tf.reduce_sum(0.5 * tf.square(z) + log_sigma + 0.5 * math.log(2 * math.pi), axis=-1)


def importance_ratio(log_f: tf.Tensor, log_mu: tf.Tensor) -> tf.Tensor:
    """Computes ρ = π / μ from the logarithms of the densities, [N, T] each; a constant.

    Beyond the range of floats it is infinite or zero, which does no harm: the losses truncate it.
    """
    tf.debugging.assert_shapes([(log_f, "NT"), (log_mu, "NT")])
    return tf.stop_gradient(tf.exp(log_f - log_mu))


def trace(log_f: tf.Tensor, log_mu: tf.Tensor, dimensions: int) -> tf.Tensor:
    """Computes Retrace's ratio ρ^(1/D), [N, T], untruncated, from the densities' logarithms; a constant (section 5.1).

    For large D, a ratio of products of D densities is far from 1; its D-th root keeps the traces from vanishing.
    """
    tf.debugging.assert_shapes([(log_f, "NT"), (log_mu, "NT")])
    # The root is taken of the logarithm: ρ itself may be too small for a float where its root is not.
    return tf.stop_gradient(tf.exp((log_f - log_mu) / dimensions))


def dueling_q(v: tf.Tensor, advantages: tf.Tensor, sampled_advantages: tf.Tensor) -> tf.Tensor:
    """Computes Q̃(x, a) = V(x) + A(x, a) − 1/n Σᵢ A(x, uᵢ),  uᵢ ~ π (equation 13).

    The expectation of Q̃(x, u) over u ~ π is V(x).

    Args:
        v: [N, T] float32.
        advantages: [N, T, K] float32, those of the K actions to evaluate.
        sampled_advantages: [N, T, n] float32, those of the actions uᵢ.

    Returns:
        [N, T, K] float32.
    """
    tf.debugging.assert_shapes([(v, "NT"), (advantages, "NTK"), (sampled_advantages, "NTn")])
    # Equation 13: V, plus the advantage above its mean under the policy.
    return v[..., tf.newaxis] + advantages - tf.reduce_mean(sampled_advantages, axis=-1, keepdims=True)


def v_target(rho_i: tf.Tensor, q_ret: tf.Tensor, q_i: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    """Computes V's target, min(1, ρᵢ) (q_ret − Q̃ᵢ) + V (equation 14), [N, T] each; a constant."""
    tf.debugging.assert_shapes([(rho_i, "NT"), (q_ret, "NT"), (q_i, "NT"), (v, "NT")])
    # Equation 14: V is corrected by Q̃'s error, with a weight of at most 1.
    return tf.stop_gradient(tf.minimum(1.0, rho_i) * (q_ret - q_i) + v)


def gain(
    log_f: tf.Tensor,
    log_f_sampled: tf.Tensor,
    q_sampled: tf.Tensor,
    v: tf.Tensor,
    q_opc: tf.Tensor,
    rho_i: tf.Tensor,
    rho_sampled: tf.Tensor,
    c: float,
) -> Gain:
    """Computes the objective whose gradient is ĝ_acer for continuous actions (section 5.2).

        min(c, ρᵢ) (q_opc − v) log π(aᵢ)  +  max(0, 1 − c/ρ') (Q̃(a') − v) log π(a'),   a' ~ π

    Every factor that multiplies a logarithm is a constant, and so is the sampled action a'.

    Args:
        log_f: [N, T] float32, log-density of the action taken. Gradients flow only through it and `log_f_sampled`.
        log_f_sampled: [N, T] float32, log-density of a'.
        q_sampled: [N, T] float32, Q̃ of a'.
        v: [N, T] float32.
        q_opc: [N, T] float32, return for the action taken.
        rho_i: [N, T] float32, importance ratio of the action taken.
        rho_sampled: [N, T] float32, that of a'.
        c: truncation of the importance ratio.
    """
    per_step = (log_f, log_f_sampled, q_sampled, v, q_opc, rho_i, rho_sampled)
    tf.debugging.assert_shapes([(x, "NT") for x in per_step])
    adv, adv_bc = q_opc - v, q_sampled - v
    # The action taken, with a truncated weight, which bounds the variance.
    truncated = tf.stop_gradient(tf.minimum(rho_i, c) * adv)
    # What truncation removed, estimated without bias from one action of the current policy; its weight is below 1.
    correction = tf.stop_gradient(tf.nn.relu(1.0 - c / rho_sampled) * adv_bc)
    return Gain(f=truncated * log_f, bc=correction * log_f_sampled, adv=adv, adv_bc=adv_bc)


def entropy(log_sigma: tf.Tensor) -> tf.Tensor:
    """Computes the Gaussian's entropy, Σ (log σ + ½ log 2πe), [...], from log σ [..., D]."""
    tf.debugging.assert_rank_at_least(log_sigma, 1)
    return tf.reduce_sum(log_sigma + 0.5 * math.log(2 * math.pi * math.e), axis=-1)


def kl(mean_avg: tf.Tensor, log_sigma_avg: tf.Tensor, mean: tf.Tensor, log_sigma: tf.Tensor) -> tf.Tensor:
    """Computes KL(average ‖ current), [...], of two Gaussians with diagonal covariance, from arguments [..., D].

    Σ (log σ − log σ_avg + (σ_avg² + (mean − mean_avg)²) / 2σ² − ½)
    """
    tf.debugging.assert_shapes([(x, (..., "D")) for x in (mean_avg, log_sigma_avg, mean, log_sigma)])
    # (σ_avg² + (mean − mean_avg)²) / σ², dimension by dimension.
    ratio = (tf.exp(2.0 * log_sigma_avg) + tf.square(mean - mean_avg)) * tf.exp(-2.0 * log_sigma)
    return tf.reduce_sum(log_sigma - log_sigma_avg + 0.5 * ratio - 0.5, axis=-1)


def kl_gradient_mean(mean_avg: tf.Tensor, mean: tf.Tensor, log_sigma: tf.Tensor) -> tf.Tensor:
    """Computes ∂/∂mean KL(average ‖ current) = (mean − mean_avg) / σ²: [..., D]."""
    tf.debugging.assert_shapes([(x, (..., "D")) for x in (mean_avg, mean, log_sigma)])
    # k of the trust region (section 3.3) for the mean.
    return (mean - mean_avg) * tf.exp(-2.0 * log_sigma)


def kl_gradient_log_sigma(
    mean_avg: tf.Tensor, log_sigma_avg: tf.Tensor, mean: tf.Tensor, log_sigma: tf.Tensor
) -> tf.Tensor:
    """Computes ∂/∂log σ KL(average ‖ current) = 1 − (σ_avg² + (mean − mean_avg)²) / σ²: [..., D]."""
    tf.debugging.assert_shapes([(x, (..., "D")) for x in (mean_avg, log_sigma_avg, mean, log_sigma)])
    # k for log σ, where it is learned; 0 if σ_avg = σ and the means are equal.
    return 1.0 - (tf.exp(2.0 * log_sigma_avg) + tf.square(mean - mean_avg)) * tf.exp(-2.0 * log_sigma)
