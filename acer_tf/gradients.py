"""ACER's gradients: with respect to the policy's statistics, corrected by the trust region, then to the weights."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.maths.diagnostics import mean_row_norm, share
from acer_tf.maths.trust_region import Projection, project
from acer_tf.policies.base import DrawSeed, Evaluation, Losses, Policy
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
    """All quantities of one update up to the optimiser. A is 1 or 2 times D for continuous actions.

    Attributes:
        evaluation: policy and critic on the trained steps.
        losses: the losses and their terms.
        g: [N, T, A] float32, ascent direction with respect to f before the trust region, of the sum over steps.
        trust_region: its quantities; None where it is switched off.
        grad_f: [N, T, A] float32, gradient of the loss with respect to f, after the trust region.
        raw: gradient of each parameter.
        clipped: the same after clipping.
        norm: [] float32, global norm of `raw`.
        policy: the part of `raw` that comes through f, None for parameters it does not reach; empty unless asked for.
        critic: the part that comes through q, likewise.
    """

    evaluation: Evaluation
    losses: Losses
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

    First the gradients with respect to the policy's statistics f and the critic's q, the former corrected by the trust
    region; then one backward pass carries both to the weights.

    Args:
        policy: the policy that is trained.
        averages: the average policy's parameters, in the order of `policy.params`.
        segment: T steps of N environments, tensors.
        config: hyper-parameters.
        draw_seed: draws the seed of actions that the policy samples.
        parts: also compute the policy's and the critic's part of the gradient separately.
    """
    params = [variable.value for variable in policy.params.values()]
    # Forward pass; this tape leads from f and q to the weights.
    with tf.GradientTape(persistent=parts) as tape:
        evaluation = policy.evaluate(segment, config, draw_seed)
    f, q = evaluation.f, evaluation.q
    trained = policy.trained_part(segment, config)

    # Stage 1: gradients stop at f (probabilities, not logits) and q. The entropy is part of it (acer/acer.py:156).
    with tf.GradientTape() as output_tape:
        # f and q are outputs, not variables: the tape has to be told.
        output_tape.watch((f, q))
        losses = policy.losses(evaluation, trained, config)
    grad_f, grad_q = output_tape.gradient(losses.loss, (f, q))

    # The trust region bounds each step's gradient, as in baselines, while losses are means: hence times N * T.
    steps = float(np.prod(trained.rewards.shape))
    # Ascent, as in the paper: the loss is its negative.
    g = -steps * grad_f
    trust_region = None
    if config.trust_region:
        # Equation 12: z, the point of the half space kᵀz ≤ δ nearest to g, takes the place of g.
        f_avg = policy.average_statistics(segment, averages, config)
        k = policy.kl_gradient(f_avg, f)
        trust_region = TrustRegion(f_avg, k, project(g, k, config.delta))
        grad_f = -trust_region.projection.z / steps

    # Stage 2: ∂f/∂θ z and ∂q/∂θ in one pass; baselines makes two and adds them (acer/acer.py:170).
    raw = tape.gradient((f, q), params, (grad_f, grad_q), tf.UnconnectedGradients.ZERO)
    # One clip of the sum, by its global norm (acer/acer.py:181).
    clipped, norm = raw, tf.linalg.global_norm(raw)
    if config.max_grad_norm is not None:
        clipped, _ = tf.clip_by_global_norm(raw, config.max_grad_norm, use_norm=norm)
    # Only for baselines' norm_grads_policy and norm_grads_q: two further backward passes.
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
    # Ours: how often the constraint acted, and how far the policy is from its average.
    if trust_region is not None:
        report |= {
            "trust_region_share": share(trust_region.projection.adj > 0),
            "average_kl": tf.reduce_mean(policy.kl(trust_region.f_avg, gradients.evaluation.f)),
        }
    return report


def first_not_finite(segment: Segment, gradients: Gradients, names: list[str]) -> str:
    """Finds the first quantity of an update that is not finite, in the order in which they are computed.

    Args:
        segment: the whole segment, arrays.
        gradients: of that segment, tensors with values.
        names: of the parameters, in order.

    Returns:
        The quantity in words, such as "the critic q"; "the norm of the gradient" if all else is finite.
    """
    quantities = {
        "the reward": segment.rewards,
        "the value at a time limit": segment.final_values,
        "the behaviour policy mu": segment.mus,
        "the policy f": gradients.evaluation.f,
        "the critic q": gradients.evaluation.q,
        "the importance ratio rho": np.minimum(gradients.losses.rho_i, 1),  # truncated wherever used: may be infinite
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
            # Means over steps of the row norms, as baselines' avg_norm.
            "avg_norm_grads_f": mean_row_norm(trust_region.projection.z),
            "avg_norm_k": mean_row_norm(trust_region.k),
            "avg_norm_g": mean_row_norm(gradients.g),
            "avg_norm_k_dot_g": tf.reduce_mean(tf.abs(trust_region.projection.k_dot_g)),
            "avg_norm_adj": tf.reduce_mean(tf.abs(trust_region.projection.adj)),
        }
    return report
