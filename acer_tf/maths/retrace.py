"""Retrace, the off-policy return that trains the critic (https://arxiv.org/abs/1606.02647)."""

import tensorflow as tf


def retrace(
    rewards: tf.Tensor, continues: tf.Tensor, q_i: tf.Tensor, v: tf.Tensor, rho_i: tf.Tensor, gamma: float
) -> tf.Tensor:
    """Computes the Retrace target of every step (https://arxiv.org/abs/1611.01224, equation 5).

        q_retₜ = rₜ + γₜ [ρ̄ₜ₊₁ (q_retₜ₊₁ − qₜ₊₁) + vₜ₊₁],   ρ̄ = min(1, ρ),   γₜ = γ · continuesₜ

    The last step bootstraps: q_ret = r + γₜ v. ρ is truncated at 1 whatever `c` is, as in algorithm 2 and in baselines;
    the text next to equation 5 has min(c, ρ).

    The recursion x_t = a_t + b_t x_{t+1} is a triangular system with one band above the diagonal. A single back
    substitution solves it in the order of the recursion; a loop would cost about eight small operations per step.

    Args:
        rewards: [N, T] float32.
        continues: [N, T] float32, 0 where the episode ended at this step, else 1.
        q_i: [N, T] float32, Q of the action taken.
        v: [N, T + 1] float32, state values, the bootstrap step last.
        rho_i: [N, T] float32, importance ratio of the action taken.
        gamma: discount factor.

    Returns:
        [N, T] float32; a constant: no gradient flows through it.
    """
    tf.debugging.assert_shapes([(rewards, "NT"), (continues, "NT"), (q_i, "NT"), (rho_i, "NT"), (v[:, 1:], "NT")])
    # γₜ: the end of an episode cuts the recursion off.
    discounts = gamma * continues
    # ρ̄ and q of the next step; the last step has neither, so it bootstraps from v alone.
    rho_bar = tf.pad(tf.minimum(1.0, rho_i)[:, 1:], [[0, 0], [0, 1]])
    q_next = tf.pad(q_i[:, 1:], [[0, 0], [0, 1]])
    # xₜ = aₜ + bₜ xₜ₊₁ with a = r + γ (v' − ρ̄' q'), b = γ ρ̄': ones on the diagonal, −b above it.
    constant = rewards + discounts * (v[:, 1:] - rho_bar * q_next)
    bands = tf.stack([-discounts * rho_bar, tf.ones_like(discounts)], axis=1)[:, -rewards.shape[1] :]  # T = 1: one band
    q_ret = tf.linalg.banded_triangular_solve(bands, constant[..., tf.newaxis], lower=False)[..., 0]
    return tf.stop_gradient(q_ret)
