"""Compares acting, every intermediate quantity of the first update, and the state after several updates."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike, NDArray

from acer_tf.config import Config
from acer_tf.gradients import Gradients
from acer_tf.maths.discrete import select
from acer_tf.maths.schedules import learning_rate
from acer_tf.model import Model
from acer_tf.networks.actor_critic import Outputs
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.recordings import replica
from acer_tf.recordings.comparison import ARRAY, DOUBLE, FIRST_UPDATE, SCALAR, Measure, Quantity
from acer_tf.recordings.recorded import Recorded
from acer_tf.segment import Segment

GRADIENTS = {"grad_raw": "raw", "grad_clip": "clipped", "grad_policy": "policy", "grad_q": "critic"}
"""Recorded groups, and our names for the same gradients."""


def compare_model(recorded: Recorded) -> Iterator[Quantity]:
    """Compares `Model` on the recorded batches, starting from the recorded state."""
    model = Model(replica.policy(recorded, np.random.RandomState(0)), replica.config(recorded), seed=0)
    if misfits := replica.misfits(recorded, model.params):
        yield from misfits
        return
    first = replica.segment(recorded, 0)
    replica.load(recorded, "ema0", model.params)
    average = _network(model, first.obs, first.masks, first.states)

    replica.load(recorded, "param", model.params)
    replica.load(recorded, "ema0", model.averages)
    if recorded.has_parameters("rms0"):
        replica.load(recorded, "rms0", model.optimizer.mean_squares)
    yield from _acting(recorded, model)
    yield _learning_rates(recorded, model.config)
    gradients = model.gradients(first)
    outputs = _outputs(model, first, gradients)
    outputs |= {"polyak_pi_logits": average.logits, "polyak_q_full": average.q}
    for group, name in GRADIENTS.items():
        yield from replica.per_parameter(recorded, group, getattr(gradients, name), FIRST_UPDATE)

    reports = []
    for call, lr in enumerate(recorded["batch/lr"].tolist()):
        reports.append(model.train_and_report(replica.segment(recorded, call), lr))
        if call == 0:
            yield from _first_update(recorded, outputs | reports[0])
            yield from _state(recorded, model, "1", FIRST_UPDATE)
    yield from _state(recorded, model, "_N", ARRAY)
    yield from replica.metrics(recorded, reports)


def _network(model: Model, obs: NDArray[Any], masks: NDArray[np.bool_], state: NDArray[np.float32]) -> Outputs:
    assert isinstance(model.policy, CategoricalPolicy)
    return model.policy.network(tf.constant(obs), tf.constant(masks), tf.constant(state))


def _acting(recorded: Recorded, model: Model) -> Iterator[Quantity]:
    obs = recorded["step/obs"]
    state, mask = model.initial_state(len(obs)), np.zeros(len(obs), np.bool_)
    if recorded.is_recurrent:
        state, mask = recorded["step/S"], recorded["step/M"]
    action = model.act(obs, state, mask)
    logits, q, _ = _network(model, obs[:, np.newaxis], mask[:, np.newaxis], state)
    ours = {"mus": action.mus, "pi_logits": logits, "q": q, "state": action.state}
    yield from (ARRAY(f"step/{name}", array, recorded[f"step/{name}"]) for name, array in ours.items())


def _learning_rates(recorded: Recorded, config: Config) -> Quantity:
    fractions = recorded["batch/steps"] / config.total_timesteps
    ours = [learning_rate(config.lr, config.lrschedule, fraction) for fraction in fractions.tolist()]
    return DOUBLE("batch/lr", ours, recorded["batch/lr"])


def _outputs(model: Model, segment: Segment, gradients: Gradients) -> dict[str, ArrayLike]:
    """Returns the intermediate quantities of an update by recorded name; `_full` ones include the bootstrap step."""
    # The policy leaves out the last step of a segment: one step more makes the bootstrap step an ordinary one.
    obs, masks = (np.concatenate([array, array[:, -1:]], axis=1) for array in (segment.obs, segment.masks))
    longer = segment._replace(obs=obs, masks=masks)
    f_avg_full = model.policy.average_statistics(longer, model.averages, model.config).numpy()
    assert isinstance(model.policy, CategoricalPolicy)
    full = model.policy.evaluate(longer, model.config)
    logits, _, state = _network(model, segment.obs, segment.masks, segment.states)
    evaluation, losses = gradients.evaluation, gradients.losses
    outputs = {
        "pi_logits": logits,
        "train_state_out": state,
        "q_full": full.q,
        "f_full": full.f,
        "v_full": np.concatenate([losses.terms.v, evaluation.bootstrap_v[:, np.newaxis]], axis=1),
        "f_pol_full": f_avg_full,
        "f_pol": f_avg_full[:, :-1],
        "f": evaluation.f,
        "q": evaluation.q,
        "v": losses.terms.v,
        "f_i": select(evaluation.f, segment.actions),
        "q_i": losses.terms.q_i,
        "rho": losses.terms.rho,
        "rho_i": losses.rho_i,
        "qret": losses.q_ret,
        "adv": losses.gain.adv,
        "adv_bc": losses.gain.adv_bc,
        "logf": losses.gain.logf,
        "logf_bc": losses.gain.logf_bc,
        "gain_f": losses.gain.f,
        "gain_bc": losses.gain.bc,
    }
    if gradients.trust_region is not None:
        projection = gradients.trust_region.projection
        outputs |= {
            "f_pol": gradients.trust_region.f_avg,
            "g": gradients.g,
            "k": gradients.trust_region.k,
            "k_dot_g": projection.k_dot_g,
            "adj": projection.adj,
            "g_corrected": projection.z,
            "grads_f": gradients.grad_f,
        }
    return outputs


def _first_update(recorded: Recorded, ours: Mapping[str, ArrayLike]) -> Iterator[Quantity]:
    """Compares all recorded quantities of the first update; a quantity that is not computed here fails."""
    for name, array in recorded.group("out").items():
        measure = ARRAY if array.ndim else SCALAR
        yield measure(f"out/{name}", ours.get(name, np.empty(0)), array)


def _state(recorded: Recorded, model: Model, when: str, measure: Measure) -> Iterator[Quantity]:
    for group, ours in (("param", model.params), ("ema", model.averages), ("rms", model.optimizer.mean_squares)):
        yield from replica.per_parameter(recorded, group + when, ours, measure)
