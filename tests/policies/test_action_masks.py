"""Masks of possible actions in acting and in the update, against a reference in float64."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Discrete
from numpy.random import RandomState

from acer_tf.config import Config
from acer_tf.model import Model
from acer_tf.policies.actor import Actor
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.segment import Segment
from tests import reference
from tests.agents import NENVS, NFEATURES, NSTEPS, make_segment
from tests.reference import Hyper

NACT = 6
NETWORKS = [("mlp", {"num_hidden": 8}), ("lstm", {"nlstm": 5})]


def make_model(network: str = "mlp", seed: int = 0, nact: int = NACT, **config: Any) -> Model:
    """With large logits, and with an average policy elsewhere."""
    space = Box(-np.inf, np.inf, (NFEATURES,), np.float32)
    policy = CategoricalPolicy(network, space, Discrete(nact), RandomState(seed), **dict(NETWORKS)[network])
    model = Model(policy, Config(**config), seed)
    policy.params["pi_head/kernel"].assign(100 * policy.params["pi_head/kernel"].value)
    random = np.random.default_rng(seed)
    for average, param in zip(model.averages, model.params, strict=True):
        average.assign(param + 0.2 * random.normal(size=param.shape))
    return model


def masked_segment(model: Model, seed: int = 0) -> Segment:
    """With random masks, and with actions and probabilities as another policy that obeys them would have."""
    random = np.random.default_rng(seed)
    possible = random.random((NENVS, NSTEPS + 1, NACT)) < 0.5
    possible[..., 0] |= ~possible.any(axis=-1)
    mus = random.dirichlet(np.ones(NACT), (NENVS, NSTEPS)) * possible[:, :-1]
    mus /= mus.sum(axis=-1, keepdims=True)
    actions = np.array([[random.choice(NACT, p=mu) for mu in row] for row in mus])
    states = random.normal(size=(NENVS, model.policy.network.state_size)).astype(np.float32)
    changed = {"actions": actions, "mus": mus.astype(np.float32), "states": states, "action_masks": possible}
    return make_segment(seed)._replace(**changed)


def outputs(model: Model, segment: Segment, config: Config) -> Any:
    """The network's outputs of all T + 1 steps, not masked."""
    start = segment.states if config.replay_state == "stored" else np.zeros_like(segment.states)
    return model.policy.network(*map(tf.constant, (segment.obs, segment.masks, start)))


@pytest.mark.parametrize(("network", "replay_state"), [("mlp", "zero"), ("lstm", "zero"), ("lstm", "stored")])
@pytest.mark.parametrize("trust_region", [True, False])
def test_the_gradient_is_that_of_the_reference(network: str, replay_state: str, trust_region: bool) -> None:
    config = Config(
        trust_region=trust_region, delta=0.01, c=1.5, ent_coef=0.1, max_grad_norm=None, replay_state=replay_state
    )
    model = make_model(network, **vars(config))
    segment = masked_segment(model)
    possible = segment.action_masks

    params = list(model.params)
    with tf.GradientTape() as tape:
        out = outputs(model, segment, config)
        logits, q = out.logits[:, :-1], out.q[:, :-1]
    f = reference.softmax(out.logits.numpy().astype(np.float64), possible)
    present = [param.numpy() for param in params]
    for param, average in zip(params, model.averages, strict=True):
        param.assign(average)
    f_avg = reference.softmax(outputs(model, segment, config).logits.numpy().astype(np.float64), possible)[:, :-1]
    for param, array in zip(params, present, strict=True):
        param.assign(array)
    h = Hyper(config.gamma, config.c, config.delta, trust_region, config.q_coef, config.ent_coef, None, 0, 0, 0, 0)
    arguments = (segment.actions, segment.rewards, segment.mus, segment.dones)
    d_logits, d_q = reference.output_gradients(f, out.q.numpy().astype(np.float64), f_avg, *arguments, h)
    assert (d_logits[~possible[:, :-1]] == 0).all()
    expected = tape.gradient((logits, q), params, (tf.cast(d_logits, tf.float32), tf.cast(d_q, tf.float32)))

    gradients = model.gradients(segment)
    np.testing.assert_allclose(gradients.evaluation.f, f[:, :-1], atol=1e-6)
    for name, ours, theirs in zip(model.policy.params, gradients.raw, expected, strict=True):
        theirs = tf.zeros_like(ours) if theirs is None else theirs
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5 * np.abs(theirs).max(), err_msg=name)


@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_impossible_actions_have_no_part_in_anything(network: str) -> None:
    model = make_model(network, ent_coef=0.1, c=1.5)
    segment = masked_segment(model)
    impossible = ~segment.action_masks[:, :-1]
    gradients = model.gradients(segment)
    for array in (gradients.evaluation.f, gradients.g, gradients.grad_f, gradients.trust_region.f_avg):
        assert (array.numpy()[impossible] == 0).all()
    with tf.GradientTape() as tape:
        logits = tf.constant(outputs(model, segment, model.config).logits.numpy())
        tape.watch(logits)
        f = model.policy.network(segment.obs, segment.masks, segment.states)._replace(logits=logits)
        f = f.masked(segment.action_masks).f
    at_logits = tape.gradient(f, logits, tf.random.stateless_normal(f.shape, (1, 2)))
    assert (at_logits.numpy()[~segment.action_masks] == 0).all()
    assert (at_logits.numpy()[segment.action_masks] != 0).any()


@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_a_mask_that_never_changes_is_a_network_with_fewer_actions(network: str) -> None:
    """The update of both networks is the same one, whatever weights and Q the impossible actions have."""
    model, smaller = make_model(network), make_model(network, nact=NACT - 2)
    kept = np.array([0, 2, 3, 5])
    for big, small in ((model.policy.params, smaller.policy.params), (_averages(model), _averages(smaller))):
        for name, variable in small.items():
            array = big[name].numpy()
            variable.assign(array[..., kept] if "head" in name else array)
    segment = masked_segment(model)
    possible = np.zeros((NENVS, NSTEPS + 1, NACT), np.bool_)
    possible[..., kept] = True
    few = np.random.default_rng(1).dirichlet(np.ones(4), (NENVS, NSTEPS)).astype(np.float32)
    mus, chosen = np.zeros((NENVS, NSTEPS, NACT), np.float32), segment.actions % 4
    mus[..., kept] = few
    ours = model.gradients(segment._replace(action_masks=possible, mus=mus, actions=kept[chosen]))
    theirs = smaller.gradients(segment._replace(action_masks=(), mus=few, actions=chosen))
    np.testing.assert_allclose(ours.losses.loss, theirs.losses.loss, rtol=1e-5)
    for name, big, small in zip(model.policy.params, ours.raw, theirs.raw, strict=True):
        part = big.numpy()[..., kept] if "head" in name else big.numpy()
        np.testing.assert_allclose(part, small, rtol=1e-4, atol=1e-6, err_msg=name)
        if "head" in name:
            assert (np.delete(big.numpy(), kept, axis=-1) == 0).all()


def _averages(model: Model) -> dict[str, Any]:
    return dict(zip(model.policy.params, model.averages, strict=True))


def test_possible_everywhere_is_the_update_without_masks() -> None:
    first, second = make_model(), make_model()
    segment = masked_segment(first)
    everything = np.ones_like(segment.action_masks)
    first.train(segment._replace(action_masks=everything), 1e-3)
    second.train(segment._replace(action_masks=()), 1e-3)
    for ours, theirs in zip(first.params, second.params, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_impossible_actions_are_never_drawn(network: str) -> None:
    """In a million draws, with logits that prefer them."""
    model = make_model(network)
    head = model.policy.params["pi_head/bias"]
    head.assign([-20.0, 30.0, 0.0, 30.0, -20.0, 30.0])
    possible, nenvs = np.array([True, False, True, False, True, False]), 100_000
    actor = Actor(model.policy, tf.random.Generator.from_seed(1, alg="philox"))
    obs = np.random.default_rng(0).normal(size=(nenvs, NFEATURES)).astype(np.float32)
    masks, state = np.broadcast_to(possible, (nenvs, NACT)).copy(), actor.initial_state(nenvs)
    counts = np.zeros(NACT, np.int64)
    for _ in range(10):
        action = actor.act(obs, state, np.zeros(nenvs, np.bool_), action_masks=masks)
        counts += np.bincount(action.actions, minlength=NACT)
        assert (action.mus[:, ~possible] == 0).all()
    assert counts.sum() == 1_000_000
    assert (counts[~possible] == 0).all() and counts[2] > 0.9e6
    greedy = actor.act(obs, state, np.zeros(nenvs, np.bool_), deterministic=True, action_masks=masks)
    assert possible[greedy.actions].all()


def test_values_leave_impossible_actions_out() -> None:
    model = make_model()
    segment = masked_segment(model)
    out = outputs(model, segment, model.config)
    f = reference.softmax(out.logits.numpy().astype(np.float64), segment.action_masks)[:, 0]
    values = model.actor.values(segment.obs[:, 0], segment.states, segment.action_masks[:, 0])
    np.testing.assert_allclose(values, (f * out.q.numpy()[:, 0]).sum(axis=-1), rtol=1e-4, atol=1e-6)


def test_burn_in_leaves_its_masks_out() -> None:
    config = Config(burn_in=2, replay_state="stored")
    model = make_model("lstm", burn_in=2, replay_state="stored")
    segment = masked_segment(model)
    f = reference.softmax(outputs(model, segment, config).logits.numpy().astype(np.float64), segment.action_masks)
    gradients = model.gradients(segment)
    np.testing.assert_allclose(gradients.evaluation.f, f[:, 2:-1], atol=1e-5)
    assert (gradients.g.numpy()[~segment.action_masks[:, 2:-1]] == 0).all()


def test_several_updates_in_one_call_see_their_masks() -> None:
    one, many = make_model(seed=1), make_model(seed=1)
    segments = [masked_segment(one, seed) for seed in range(3)]
    for segment in segments:
        one.train(segment, 1e-3)
    many.train_many(segments, 1e-3)
    for ours, theirs in zip(one.params, many.params, strict=True):
        np.testing.assert_array_equal(ours, theirs)
