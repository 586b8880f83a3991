import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acer_tf.maths import continuous
from acer_tf.maths.retrace import retrace
from acer_tf.maths.trust_region import project

Array = NDArray[Any]
seeds = st.integers(0, 2**32)


def gradients(function: Any, *inputs: Any) -> list[Array | None]:
    tensors = [tf.constant(x) for x in inputs]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        total = tf.reduce_sum(function(*tensors))
    return [None if g is None else g.numpy() for g in tape.gradient(total, tensors)]


@given(st.integers(1, 5), seeds)
@settings(max_examples=20, deadline=None)
def test_log_density_and_entropy_equal_those_of_a_library(d: int, seed: int) -> None:
    x, mean, log_sigma = np.random.default_rng(seed).normal(size=(3, 4, 5, d))
    library = tfp.distributions.MultivariateNormalDiag(mean, np.exp(log_sigma))
    np.testing.assert_allclose(continuous.log_density(x, mean, log_sigma), library.log_prob(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(continuous.entropy(log_sigma), library.entropy(), rtol=1e-9, atol=1e-12)


NT, NTD, WRONG = np.ones((2, 3)), np.ones((2, 3, 4)), np.ones((2, 5))


@pytest.mark.parametrize(
    "call",
    [
        lambda: continuous.log_density(NTD, NTD[..., :2], NTD),
        lambda: continuous.importance_ratio(NT, WRONG),
        lambda: continuous.trace(NT, WRONG, 4),
        lambda: continuous.dueling_q(NT, NTD, WRONG[..., np.newaxis]),
        lambda: continuous.v_target(NT, NT, NT, WRONG),
        lambda: continuous.gain(NT, NT, NT, NT, WRONG, NT, NT, 1.0),
        lambda: continuous.entropy(np.float64(0.1)),
        lambda: continuous.kl(NTD, NTD, NTD, NTD[..., :1]),
        lambda: continuous.kl_gradient_mean(NTD, NTD[..., :1], NTD),
        lambda: continuous.kl_gradient_log_sigma(NTD, NTD, NTD, NTD[..., :1]),
    ],
)
def test_other_shapes_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"rank|dimension"):
        call()


def test_log_density_broadcasts_over_samples() -> None:
    random = np.random.default_rng(0)
    x, mean, log_sigma = random.normal(size=(2, 5, 7, 3)), random.normal(size=(2, 5, 3)), np.log([0.1, 0.2, 0.3])
    together = continuous.log_density(x, mean[..., None, :], log_sigma)
    one_by_one = [continuous.log_density(x[:, :, i], mean, log_sigma) for i in range(7)]
    np.testing.assert_allclose(together, np.stack(one_by_one, axis=-1), rtol=1e-12)


def test_importance_ratio_is_a_constant_and_may_leave_the_range_of_floats() -> None:
    log_f, log_mu = np.array([[[0.0, -1.0, 500.0, -500.0]], [[0.0, 1.0, -500.0, 500.0]]], np.float32)
    rho = continuous.importance_ratio(log_f, log_mu)
    np.testing.assert_allclose(rho, [[1, math.exp(-2), np.inf, 0]], rtol=1e-6)
    assert gradients(continuous.importance_ratio, log_f, log_mu) == [None, None]
    zeros, ones = np.zeros((1, 4), np.float32), np.ones((1, 4), np.float32)
    gain = continuous.gain(log_f, log_f, ones, zeros, ones, rho, rho, 5.0)
    assert np.isfinite(gain.f).all() and np.isfinite(gain.bc).all()
    np.testing.assert_array_equal(gain.f[0, 2:], [5 * 500, 0])
    np.testing.assert_array_equal(gain.bc[0, 2:], [500, 0])


def test_trace_is_the_root_of_the_dimension() -> None:
    log_f, log_mu = np.log([[0.125, 2.0, 27.0]]), np.log([[1.0, 2.0, 1.0]])
    np.testing.assert_allclose(continuous.trace(log_f, log_mu, 3), [[0.5, 1, 3]])
    np.testing.assert_allclose(continuous.trace(log_f, log_mu, 1), [[0.125, 1, 27]])
    assert gradients(lambda *logs: continuous.trace(*logs, 3), log_f, log_mu) == [None, None]


def test_trace_remains_where_the_ratio_is_too_small_for_a_float() -> None:
    log_f, log_mu = np.array([[-100.0, 60.0]], np.float32), np.array([[50.0, -40.0]], np.float32)
    np.testing.assert_array_equal(continuous.importance_ratio(log_f, log_mu), [[0, np.inf]])
    np.testing.assert_allclose(continuous.trace(log_f, log_mu, 105), np.exp([[-150 / 105, 100 / 105]]), rtol=1e-6)


def test_q_opc_is_retrace_with_trace_one_and_equals_its_own_recursion() -> None:
    random = np.random.default_rng(0)
    rewards, q_i = random.normal(size=(2, 4, 9))
    v, continues = random.normal(size=(4, 10)), (random.random((4, 9)) > 0.3).astype(float)
    expected, following = np.zeros((4, 9)), v[:, 9]
    for t in reversed(range(9)):
        expected[:, t] = rewards[:, t] + 0.9 * continues[:, t] * following
        following = expected[:, t] - q_i[:, t] + v[:, t]
    q_opc = retrace(*map(tf.constant, (rewards, continues, q_i, v, np.ones((4, 9)))), 0.9)
    np.testing.assert_allclose(q_opc, expected, rtol=1e-10)


def test_the_dueling_term_vanishes_in_expectation() -> None:
    """Over n samples u and one more action of the same policy, the mean of Q̃ is V: Monte Carlo, three sigma."""
    random = np.random.default_rng(1)
    v, samples = 1.7, random.normal(0.4, 0.3, (1, 20_000, 6))
    advantages = np.sin(3 * samples) + samples**2
    q = continuous.dueling_q(np.full((1, 20_000), v), advantages[..., :1], advantages[..., 1:]).numpy()[0, :, 0]
    assert abs(q.mean() - v) < 3 * q.std() / math.sqrt(len(q))
    assert q.std() > 0.1
    assert abs(advantages.mean()) > 0.1, "without the subtraction it would not vanish"


def test_dueling_q_against_the_formula() -> None:
    random = np.random.default_rng(2)
    v, a, a_u = random.normal(size=(4, 5)), random.normal(size=(4, 5, 2)), random.normal(size=(4, 5, 3))
    q = continuous.dueling_q(v, a, a_u)
    np.testing.assert_allclose(q[1, 2, 1], v[1, 2] + a[1, 2, 1] - a_u[1, 2].sum() / 3, rtol=1e-12)


def test_v_target_is_a_constant_and_truncates_at_one() -> None:
    rho, q_ret, q_i, v = np.array([[[0.5, 7.0]], [[3.0, 3.0]], [[1.0, 1.0]], [[10.0, 10.0]]])
    np.testing.assert_allclose(continuous.v_target(rho, q_ret, q_i, v), [[11, 12]])
    assert gradients(continuous.v_target, rho, q_ret, q_i, v) == [None] * 4


def test_only_log_densities_take_a_gradient() -> None:
    random = np.random.default_rng(3)
    log_f, log_f_sampled, q_sampled, v, q_opc = random.normal(size=(5, 2, 4))
    rho_i, rho_sampled = random.uniform(0, 4, (2, 2, 4))

    def objective(*inputs: tf.Tensor) -> tf.Tensor:
        gain = continuous.gain(*inputs, 1.5)
        return gain.f + gain.bc

    ours, ours_sampled, *rest = gradients(objective, log_f, log_f_sampled, q_sampled, v, q_opc, rho_i, rho_sampled)
    np.testing.assert_allclose(ours, np.minimum(1.5, rho_i) * (q_opc - v), rtol=1e-12)
    np.testing.assert_allclose(ours_sampled, np.maximum(0, 1 - 1.5 / rho_sampled) * (q_sampled - v), rtol=1e-12)
    assert rest == [None] * 5


@pytest.mark.parametrize("c", [0.2, 1.0, 5.0])
def test_truncation_and_correction_are_unbiased_together(c: float) -> None:
    """The mean of the estimator is ∇ E[Q] for Q(a) = −Σ (a − b)², which is −2 (mean − b): Monte Carlo, three sigma."""
    random = np.random.default_rng(0)
    n, d = 200_000, 2
    mean, mu_mean, sigma, b = np.array([0.3, -0.2]), np.array([0.0, 0.1]), np.array([0.4, 0.5]), np.array([1.0, 0.5])
    actions, sampled = mu_mean + sigma * random.normal(size=(1, n, d)), mean + sigma * random.normal(size=(1, n, d))

    def q(a: Array) -> Array:
        return -((a - b) ** 2).sum(axis=-1)

    def rho(a: Array) -> tf.Tensor:
        return continuous.importance_ratio(
            continuous.log_density(a, mean, np.log(sigma)), continuous.log_density(a, mu_mean, np.log(sigma))
        )

    def objective(means: tf.Tensor) -> tf.Tensor:
        log_f, log_f_sampled = (continuous.log_density(a, means, np.log(sigma)) for a in (actions, sampled))
        v = np.full((1, n), q(mean))
        return sum(continuous.gain(log_f, log_f_sampled, q(sampled), v, q(actions), rho(actions), rho(sampled), c)[:2])

    (estimates,) = gradients(objective, np.tile(mean, (1, n, 1)))
    standard_error = estimates.std(axis=(0, 1)) / math.sqrt(n)
    assert (np.abs(estimates.mean(axis=(0, 1)) + 2 * (mean - b)) < 3 * standard_error).all()
    assert (standard_error < 0.02).all()


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_kl_and_its_gradients(seed: int) -> None:
    mean_avg, log_sigma_avg, mean, log_sigma = np.random.default_rng(seed).normal(size=(4, 2, 3, 4))

    def divergence(mean: tf.Tensor, log_sigma: tf.Tensor) -> tf.Tensor:
        average = tfp.distributions.MultivariateNormalDiag(mean_avg, tf.exp(log_sigma_avg))
        return average.kl_divergence(tfp.distributions.MultivariateNormalDiag(mean, tf.exp(log_sigma)))

    kl = continuous.kl(mean_avg, log_sigma_avg, mean, log_sigma)
    np.testing.assert_allclose(kl, divergence(mean, log_sigma), rtol=1e-9, atol=1e-12)
    by_mean, by_log_sigma = gradients(divergence, mean, log_sigma)
    np.testing.assert_allclose(continuous.kl_gradient_mean(mean_avg, mean, log_sigma), by_mean, rtol=1e-9, atol=1e-12)
    k = continuous.kl_gradient_log_sigma(mean_avg, log_sigma_avg, mean, log_sigma)
    np.testing.assert_allclose(k, by_log_sigma, rtol=1e-9, atol=1e-12)


@given(seeds, st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=20, deadline=None)
def test_the_projected_gradient_stays_in_the_half_space(seed: int, delta: float) -> None:
    g, mean_avg, mean = np.random.default_rng(seed).normal(size=(3, 2, 3, 4))
    k = continuous.kl_gradient_mean(mean_avg, mean, np.log(np.full(4, 0.3))).numpy()
    z = project(tf.constant(g), k, delta).z.numpy()
    assert ((k * z).sum(axis=-1) <= delta + 1e-5).all()
    inside = (k * g).sum(axis=-1) <= delta
    np.testing.assert_array_equal(z[inside], g[inside])
