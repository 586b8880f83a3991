"""ACER's gradients: with respect to the policy's statistics, corrected by the trust region, then to the weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.maths.diagnostics import mean_row_norm, share
from acer_tf.maths.trust_region import Projection, project
from acer_tf.policies.base import DrawSeed, Policy
from acer_tf.segment import Segment


class TrustRegion(NamedTuple):
    """The trust region's quantities for a segment.

    Attributes:
        f_avg: [N, T, A] float32, the average policy's statistics.
        k: [N, T, A] float32, gradient of the divergence from it.
        projection: the gradient after the projection.
    """

    f_avg: tf.Tensor
    k: tf.Tensor
    projection: Projection


class Gradients(NamedTuple):
    """Everything about one update up to the optimiser.

    Attributes:
        evaluation: what the networks said, as the policy's `evaluate` gives it.
        losses: the losses, as the policy's `losses` gives them.
        g: [N, T, A] float32, ascent direction with respect to f before the trust region, times N * T.
        trust_region: its quantities; None where it is switched off.
        grad_f: [N, T, A] float32, what is sent back through f.
        raw: gradient of each parameter.
        clipped: the same after clipping.
        norm: [] float32, global norm of `raw`.
        policy: the part of `raw` that came through f, None for parameters it does not reach; empty unless asked for.
        critic: the part that came through q, likewise.
    """

    evaluation: Any
    losses: Any
    g: tf.Tensor
    trust_region: TrustRegion | None
    grad_f: tf.Tensor
    raw: list[tf.Tensor]
    clipped: list[tf.Tensor]
    norm: tf.Tensor
    policy: list[tf.Tensor | None]
    critic: list[tf.Tensor | None]


def two_stage_gradients(
    policy: Policy,
    averages: Sequence[tf.Variable],
    segment: Segment,
    config: Config,
    draw_seed: DrawSeed,
    parts: bool = False,
) -> Gradients:
    """Computes the gradient of every parameter in the two stages of the paper (section 3.3).

    First the gradient with respect to the policy's statistics f (and to q), corrected by the trust region; then, in
    one backward pass, what it means for the weights: the policy's part comes back through f, the critic's
    through q.

    Args:
        policy: what is trained.
        averages: the average policy's parameters, in the order of `policy.params`.
        segment: T steps of N environments, tensors.
        config: hyper-parameters.
        draw_seed: gives seeds for what the policy samples.
        parts: also compute both parts of the gradient by themselves.
    """
    params = [variable.value for variable in policy.params.values()]
    with tf.GradientTape(persistent=parts) as tape:
        evaluation = policy.evaluate(segment, config, draw_seed)
    f, q = evaluation.f, evaluation.q
    trained = policy.trained_part(segment, config)

    with tf.GradientTape() as output_tape:
        output_tape.watch((f, q))
        losses = policy.losses(evaluation, trained, config)
    grad_f, grad_q = output_tape.gradient(losses.loss, (f, q))

    steps = float(np.prod(trained.rewards.shape))  # the original's g is of the sum over steps, its losses are means
    g = -steps * grad_f
    trust_region = None
    if config.trust_region:
        f_avg = policy.average_statistics(segment, averages, config)
        k = policy.kl_gradient(f_avg, f)
        trust_region = TrustRegion(f_avg, k, project(g, k, config.delta))
        grad_f = -trust_region.projection.g / steps

    raw = tape.gradient((f, q), params, (grad_f, grad_q), tf.UnconnectedGradients.ZERO)
    clipped, norm = raw, tf.linalg.global_norm(raw)
    if config.max_grad_norm is not None:
        clipped, _ = tf.clip_by_global_norm(raw, config.max_grad_norm, use_norm=norm)
    through_f = tape.gradient(f, params, grad_f) if parts else []
    through_q = tape.gradient(q, params, grad_q) if parts else []
    return Gradients(evaluation, losses, g, trust_region, grad_f, raw, clipped, norm, through_f, through_q)


def metrics(gradients: Gradients, policy: Policy, config: Config) -> dict[str, tf.Tensor]:
    """Returns the metrics of an update, [] float32 each: baselines', under its names, then ours (docs/metrics.md)."""
    losses, trust_region = gradients.losses, gradients.trust_region
    report = _baselines_metrics(gradients) | {
        "mean_rho": tf.reduce_mean(losses.rho_i),
        "truncated_share": share(losses.rho_i > config.c),
    }
    if trust_region is not None:
        report |= {
            "trust_region_share": share(trust_region.projection.adj > 0),
            "average_kl": tf.reduce_mean(policy.kl(trust_region.f_avg, gradients.evaluation.f)),
        }
    return report


def first_not_finite(segment: Segment, gradients: Gradients, names: list[str]) -> str:
    """Names the first quantity of an update that is not finite, in the order in which they are computed."""
    quantities = {
        "the reward": segment.rewards,
        "the value at a time limit": segment.final_values,
        "the behaviour policy mu": segment.mus,
        "the policy f": gradients.evaluation.f,
        "the critic q": gradients.evaluation.q,
        "the importance ratio rho": np.minimum(gradients.losses.rho_i, 1),  # truncated everywhere: it may be infinite
        "the Retrace target q_ret": gradients.losses.q_ret,
        "the loss": gradients.losses.loss,
        **{f"the gradient of {name}": gradient for name, gradient in zip(names, gradients.raw, strict=True)},
    }
    wrong = (name for name, value in quantities.items() if not np.isfinite(np.asarray(value)).all())
    return next(wrong, "the norm of the gradient")


def _baselines_metrics(gradients: Gradients) -> dict[str, tf.Tensor]:
    """Returns metrics under baselines' names; those from `norm_grads_q` on only with trust region."""
    losses, trust_region = gradients.losses, gradients.trust_region
    report = {
        "loss": losses.loss,
        "loss_q": losses.loss_q,
        "entropy": losses.entropy,
        "loss_policy": losses.loss_policy,
        "loss_f": losses.loss_f,
        "loss_bc": losses.loss_bc,
        "explained_variance": losses.explained_variance,
        "norm_grads": gradients.norm,
    }
    if trust_region is not None:
        report |= {
            "norm_grads_q": tf.linalg.global_norm(gradients.critic),
            "norm_grads_policy": tf.linalg.global_norm(gradients.policy),
            "avg_norm_grads_f": mean_row_norm(trust_region.projection.g),
            "avg_norm_k": mean_row_norm(trust_region.k),
            "avg_norm_g": mean_row_norm(gradients.g),
            "avg_norm_k_dot_g": tf.reduce_mean(tf.abs(trust_region.projection.k_dot_g)),
            "avg_norm_adj": tf.reduce_mean(tf.abs(trust_region.projection.adj)),
        }
    return report
