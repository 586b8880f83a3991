"""ACER's gradients: first for the policy's statistics, corrected by the trust region, then for the weights."""

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
        k: [N, T, A] float32, gradient of the divergence from the average policy.
        projection: the projected gradient and the size of the correction.
    """

    f_avg: tf.Tensor
    k: tf.Tensor
    projection: Projection


class Gradients(NamedTuple):
    """All quantities of one update up to the optimiser. For continuous actions, A is D or 2D.

    Attributes:
        evaluation: policy and critic on the trained steps.
        losses: the losses and their terms.
        g: [N, T, A] float32, ascent direction of the sum over steps with respect to f, before the trust region.
        trust_region: the trust region's quantities; None if it is switched off.
        grad_f: [N, T, A] float32, gradient of the loss with respect to f, after the trust region.
        raw: gradient of each parameter.
        clipped: the same after clipping.
        norm: [] float32, global norm of `raw`.
        policy: the part of `raw` that comes through f, None for parameters it does not reach; empty unless requested.
        critic: likewise, the part that comes through q.
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

    The first stage computes the gradients with respect to the policy's statistics f, corrected by the trust region, and
    the critic's q. In the second, one backward pass carries both to the weights.

    Args:
        policy: the policy to train.
        averages: the average policy's parameters, in the order of `policy.params`.
        segment: T steps of N environments, as tensors.
        config: hyper-parameters.
        draw_seed: draws the seed for actions that the policy samples.
        parts: whether to compute the policy's and the critic's parts of the gradient separately too.
    """
    params = [variable.value for variable in policy.params.values()]
    # Forward pass; this tape leads from f and q to the weights.
    with tf.GradientTape(persistent=parts) as tape:
        evaluation = policy.evaluate(segment, config, draw_seed)
    f, q = evaluation.f, evaluation.q
    trained = policy.trained_part(segment, config)

    # Stage 1: gradients stop at f (probabilities, not logits) and q. The loss includes the entropy (acer/acer.py:156).
    with tf.GradientTape() as output_tape:
        # f and q are outputs, not variables, so the tape must be told to watch them.
        output_tape.watch((f, q))
        losses = policy.losses(evaluation, trained, config)
    grad_f, grad_q = output_tape.gradient(losses.loss, (f, q))

    # As in baselines, the trust region bounds each step's gradient. Losses are means, hence the factor N * T.
    steps = float(np.prod(trained.rewards.shape))
    # The paper ascends; the loss is the negative of its objective.
    g = -steps * grad_f
    trust_region = None
    if config.trust_region:
        # Equation 12: z, the point of the half space kᵀz ≤ δ nearest to g, replaces g.
        f_avg = policy.average_statistics(segment, averages, config)
        k = policy.kl_gradient(f_avg, f)
        trust_region = TrustRegion(f_avg, k, project(g, k, config.delta))
        grad_f = -trust_region.projection.z / steps

    # Stage 2: both gradients pass through ∂f/∂θ and ∂q/∂θ together; baselines adds two passes (acer/acer.py:170).
    raw = tape.gradient((f, q), params, (grad_f, grad_q), tf.UnconnectedGradients.ZERO)
    # The sum is clipped once, by its global norm (acer/acer.py:181).
    clipped, norm = raw, tf.linalg.global_norm(raw)
    if config.max_grad_norm is not None:
        clipped, _ = tf.clip_by_global_norm(raw, config.max_grad_norm, use_norm=norm)
    # Two more backward passes, only for baselines' norm_grads_policy and norm_grads_q.
    through_f = tape.gradient(f, params, grad_f) if parts else []
    through_q = tape.gradient(q, params, grad_q) if parts else []
    return Gradients(evaluation, losses, g, trust_region, grad_f, raw, clipped, norm, through_f, through_q)


def metrics(gradients: Gradients, policy: Policy, config: Config) -> dict[str, tf.Tensor]:
    """Returns an update's metrics, [] float32 each: baselines', under its names, then ours (docs/metrics.md)."""
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
    """Finds the first quantity of an update that is not finite, in the order of computation.

    Args:
        segment: the complete segment, as arrays.
        gradients: its gradients, as tensors with values.
        names: the parameters' names, in order.

    Returns:
        The quantity in words, such as "the critic q"; "the norm of the gradient" if everything else is finite.
    """
    quantities = {
        "the reward": segment.rewards,
        "the value at a time limit": segment.final_values,
        "the behaviour policy mu": segment.mus,
        "the policy f": gradients.evaluation.f,
        "the critic q": gradients.evaluation.q,
        "the importance ratio rho": np.minimum(gradients.losses.rho_i, 1),  # may be infinite: always used truncated
        "the Retrace target q_ret": gradients.losses.q_ret,
        "the loss": gradients.losses.loss,
        **{f"the gradient of {name}": gradient for name, gradient in zip(names, gradients.raw, strict=True)},
    }
    wrong = (name for name, value in quantities.items() if not np.isfinite(np.asarray(value)).all())
    return next(wrong, "the norm of the gradient")


def _baselines_metrics(gradients: Gradients) -> dict[str, tf.Tensor]:
    """Returns metrics under baselines' names; those from `norm_grads_q` on require the trust region."""
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
            # Means over steps of the row norms, as in baselines' avg_norm.
            "avg_norm_grads_f": mean_row_norm(trust_region.projection.z),
            "avg_norm_k": mean_row_norm(trust_region.k),
            "avg_norm_g": mean_row_norm(gradients.g),
            "avg_norm_k_dot_g": tf.reduce_mean(tf.abs(trust_region.projection.k_dot_g)),
            "avg_norm_adj": tf.reduce_mean(tf.abs(trust_region.projection.adj)),
        }
    return report
