from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from acer_tf.config import Config
from acer_tf.policies.categorical import CategoricalPolicy
from tests import reference
from tests.agents import NACT, NENVS, NFEATURES, NSTEPS, linear, make_policy, make_segment
from tests.reference import Array, Linear


def linear_policy(seed: int = 0) -> tuple[CategoricalPolicy, Linear]:
    policy = make_policy(linear)
    random = np.random.default_rng(seed)
    for variable in policy.params.values():
        variable.assign(random.normal(size=variable.shape))
    return policy, Linear(*(variable.numpy().astype(np.float64) for variable in policy.params.values()))


def act(policy: CategoricalPolicy, obs: Array, seed: tuple[int, int]) -> Any:
    state, mask = policy.initial_state(len(obs)), np.zeros(len(obs), np.bool_)
    return policy.act(*map(tf.constant, (obs, state, mask)), seed=tf.constant(seed, tf.int32))


def test_act_gives_the_softmax_and_draws_from_it() -> None:
    policy, reference_policy = linear_policy()
    draws, rows = 5000, np.random.default_rng(1).normal(size=(3, NFEATURES))
    obs = np.repeat(rows, draws, axis=0).astype(np.float32)
    actions, mus, _ = act(policy, obs, (1, 2))
    assert (actions.dtype, mus.dtype) == (tf.int64, tf.float32)
    np.testing.assert_allclose(mus, reference_policy.f(obs), atol=1e-6)
    for row in range(3):
        own = slice(row * draws, (row + 1) * draws)
        counts = np.bincount(actions[own], minlength=NACT)
        expected = draws * mus[own][0].numpy()
        assert ((counts - expected) ** 2 / expected).sum() < 13.8  # 99.9 % of χ² with 2 degrees of freedom


def test_act_follows_from_the_seed() -> None:
    policy, _ = linear_policy()
    obs = np.random.default_rng(1).normal(size=(200, NFEATURES)).astype(np.float32)
    first, again, other = (act(policy, obs, seed)[0].numpy() for seed in ((1, 2), (1, 2), (1, 3)))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    logits = policy.network(obs[:, np.newaxis], tf.zeros([200, 1], tf.bool), tf.zeros([200, 0])).logits[:, 0]
    library = tfp.distributions.Categorical(logits=logits, dtype=tf.int64)
    np.testing.assert_array_equal(first, library.sample(seed=tf.constant((1, 2), tf.int32)))


def test_evaluate_gives_probabilities_critic_and_bootstrap_value() -> None:
    policy, reference_policy = linear_policy()
    segment = make_segment()
    f, q, bootstrap_v, samples = policy.evaluate(segment, Config())
    assert samples is None
    expected_f, expected_q = reference_policy.f(segment.obs), reference_policy.q(segment.obs)
    assert f.shape == q.shape == (NENVS, NSTEPS, NACT)
    np.testing.assert_allclose(f, expected_f[:, :-1], atol=1e-6)
    np.testing.assert_allclose(q, expected_q[:, :-1], atol=1e-5)
    np.testing.assert_allclose(bootstrap_v, (expected_f * expected_q).sum(axis=-1)[:, -1], atol=1e-5)


def test_nothing_flows_through_the_bootstrap_value() -> None:
    policy = make_policy()
    with tf.GradientTape() as tape:
        bootstrap_v = policy.evaluate(make_segment(), Config()).bootstrap_v
    assert tape.gradient(bootstrap_v, [v.value for v in policy.params.values()]) == [None] * len(policy.params)


def test_average_statistics_come_from_the_averages_and_leave_the_parameters() -> None:
    policy, reference_policy = linear_policy()
    segment, random = make_segment(), np.random.default_rng(5)
    before = [variable.numpy() for variable in policy.params.values()]
    averages = [tf.Variable(random.normal(size=array.shape).astype(np.float32)) for array in before]
    f_avg = policy.average_statistics(segment, averages, Config())
    expected = Linear(*(average.numpy() for average in averages)).f(segment.obs[:, :-1])
    np.testing.assert_allclose(f_avg, expected, atol=1e-6)
    for variable, array in zip(policy.params.values(), before, strict=True):
        np.testing.assert_array_equal(variable, array)
    np.testing.assert_allclose(policy.evaluate(segment, Config()).f, reference_policy.f(segment.obs[:, :-1]), atol=1e-6)


def test_losses_are_the_equations() -> None:
    policy, linear_net = linear_policy()
    segment = make_segment(3)
    config = Config(gamma=0.9, c=1.5, q_coef=0.3, ent_coef=0.07)
    losses = policy.losses(policy.evaluate(segment, config), segment, config)

    f, q = linear_net.f(segment.obs), linear_net.q(segment.obs)
    v = (f * q).sum(axis=-1)
    f, q = f[:, :-1], q[:, :-1]
    taken = np.eye(NACT)[segment.actions]
    rho = f / (segment.mus + 1e-6)
    rho_i, q_i, f_i = ((array * taken).sum(axis=-1) for array in (rho, q, f))
    q_ret = reference.retrace(segment.rewards, 1.0 - segment.dones, q_i, v, rho_i, 0.9)
    v = v[:, :-1]
    loss_f = -np.mean(np.minimum(1.5, rho_i) * (q_ret - v) * np.log(f_i + 1e-6))
    weight = np.maximum(0, 1 - 1.5 / (rho + 1e-6)) * f * (q - v[..., None])
    loss_bc = -np.mean((weight * np.log(f + 1e-6)).sum(axis=-1))
    loss_q = np.mean(0.5 * (q_ret - q_i) ** 2)
    entropy = -np.mean((f * np.log(f + 1e-6)).sum(axis=-1))
    expected = {
        "loss": loss_f + loss_bc + 0.3 * loss_q - 0.07 * entropy,
        "loss_q": loss_q,
        "entropy": entropy,
        "loss_policy": loss_f + loss_bc,
        "loss_f": loss_f,
        "loss_bc": loss_bc,
        "explained_variance": 1 - np.var(q_ret - q_i) / np.var(q_ret),
        "v": v,
        "rho": rho,
        "rho_i": rho_i,
        "q_i": q_i,
        "q_ret": q_ret,
    }
    assert loss_bc != 0
    ours = losses._asdict() | losses.terms._asdict()
    for name, value in expected.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
    assert set(expected) | {"gain", "terms"} == set(ours)


def test_the_critic_learns_only_from_the_action_taken() -> None:
    policy, segment, config = make_policy(), make_segment(), Config(q_coef=0.5)
    evaluation = policy.evaluate(segment, Config())
    with tf.GradientTape() as tape:
        tape.watch(evaluation.q)
        losses = policy.losses(evaluation, segment, config)
    taken = np.eye(NACT)[segment.actions]
    expected = 0.5 * (losses.terms.q_i - losses.q_ret).numpy()[..., None] * taken / (NENVS * NSTEPS)
    np.testing.assert_allclose(tape.gradient(losses.loss, evaluation.q), expected, rtol=1e-5, atol=1e-7)


def test_truncation_without_correction() -> None:
    policy, segment = make_policy(), make_segment(3)
    evaluation = policy.evaluate(segment, Config())
    full, without = (policy.losses(evaluation, segment, Config(c=1.5, correction=on)) for on in (True, False))
    assert full.loss_bc != 0 and without.loss_bc == 0
    np.testing.assert_allclose(without.loss, full.loss - full.loss_bc, rtol=1e-5)


def test_q_lambda_takes_the_place_of_the_ratios() -> None:
    policy, segment = make_policy(), make_segment(3)
    evaluation = policy.evaluate(segment, Config())
    losses = policy.losses(evaluation, segment, Config(gamma=0.9, q_lambda=0.7))
    v = np.concatenate([losses.terms.v, evaluation.bootstrap_v[:, None]], axis=1)
    trace = np.full_like(losses.rho_i, 0.7)
    expected = reference.retrace(segment.rewards, 1.0 - segment.dones, losses.terms.q_i.numpy(), v, trace, 0.9)
    np.testing.assert_allclose(losses.q_ret, expected, rtol=1e-4, atol=1e-5)
    assert (np.abs(losses.q_ret - policy.losses(evaluation, segment, Config(gamma=0.9)).q_ret) > 1e-3).any()


@pytest.mark.parametrize("whole", [0, 1])
def test_q_lambda_may_be_a_whole_number(whole: int) -> None:
    policy, segment = make_policy(), make_segment(3)
    evaluation = policy.evaluate(segment, Config())
    ours, expected = (policy.losses(evaluation, segment, Config(q_lambda=x)).q_ret for x in (whole, float(whole)))
    np.testing.assert_array_equal(ours, expected)


def test_a_time_limit_is_as_the_end_of_a_segment() -> None:
    """The steps before it bootstrap from the last state, those after it know nothing of that."""
    policy, linear_net = linear_policy()
    segment, cut = make_segment(3), 2
    segment.dones[:], segment.final_values[:] = False, 0
    segment.dones[:, cut] = True
    segment.final_values[:, cut] = [5, -3]
    config = Config(gamma=0.9, bootstrap_truncated=True)
    losses = policy.losses(policy.evaluate(segment, config), segment, config)

    v = (linear_net.f(segment.obs) * linear_net.q(segment.obs)).sum(axis=-1)
    v_head = np.concatenate([v[:, : cut + 1], segment.final_values[:, cut : cut + 1]], axis=1)
    rewards, q_i, rho_i = segment.rewards, losses.terms.q_i.numpy(), losses.rho_i.numpy()
    pieces = (
        reference.retrace(rewards[:, part], np.ones_like(rewards[:, part]), q_i[:, part], values, rho_i[:, part], 0.9)
        for part, values in ((slice(0, cut + 1), v_head), (slice(cut + 1, None), v[:, cut + 1 :]))
    )
    np.testing.assert_allclose(losses.q_ret, np.concatenate(list(pieces), axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(segment.rewards, make_segment(3).rewards)


def test_final_values_do_nothing_unless_asked_for() -> None:
    policy, segment = make_policy(), make_segment(3)
    assert (segment.final_values != 0).any()
    evaluation = policy.evaluate(segment, Config())
    without, other = (
        policy.losses(evaluation, segment._replace(final_values=values), Config()).q_ret
        for values in (segment.final_values, segment.final_values + 7)
    )
    np.testing.assert_array_equal(without, other)
    asked = policy.losses(evaluation, segment, Config(bootstrap_truncated=True)).q_ret
    assert np.abs(asked - without).max() > 0.1


def test_values_of_states_are_the_mean_of_q() -> None:
    policy, linear_net = linear_policy()
    obs = make_segment().obs[:, 0]
    values = policy.values(tf.constant(obs), tf.constant(policy.initial_state(NENVS)))
    np.testing.assert_allclose(values, (linear_net.f(obs) * linear_net.q(obs)).sum(axis=-1), rtol=1e-5)
