from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acer_tf.maths import discrete
from tests.reference import EPS

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "small_math.npz")

Array = NDArray[Any]
seeds = st.integers(0, 2**32)


def probabilities(random: np.random.Generator, *shape: int) -> Array:
    return random.dirichlet(np.full(shape[-1], 0.7), shape[:-1])


def gradient(function: Any, f: Array) -> Array:
    f = tf.constant(f)
    with tf.GradientTape() as tape:
        tape.watch(f)
        total = tf.reduce_sum(function(f))
    return tape.gradient(total, f).numpy()


def policy_gradient(f: Array, mu: Array, q: Array, v: Array, q_ret: Array, actions: Array, c: float) -> Array:
    """Gradient of the objective with respect to f, ratios being constants."""
    rho = tf.constant(discrete.importance_ratio(f, mu))

    def objective(f: tf.Tensor) -> tf.Tensor:
        gain = discrete.gain(f, q, v, q_ret, rho, actions, c)
        return gain.f + gain.bc

    return gradient(objective, f)


def test_select_equals_what_baselines_recorded() -> None:
    (selected,) = discrete.select(GOLDEN["small/p"][np.newaxis], GOLDEN["small/idx"][np.newaxis])
    np.testing.assert_array_equal(selected, GOLDEN["small/get_by_index"])


def test_entropy_equals_what_baselines_recorded() -> None:
    recorded = GOLDEN["small/cat_entropy_softmax"]
    np.testing.assert_allclose(discrete.entropy(GOLDEN["small/p"]), recorded, rtol=1e-5)


def test_select_picks_the_action_taken() -> None:
    x = np.arange(12.0).reshape(2, 2, 3)
    np.testing.assert_array_equal(discrete.select(x, np.array([[2, 0], [1, 1]])), [[2, 3], [7, 10]])


def test_importance_ratio_has_epsilon_below() -> None:
    f, mu = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.0, 0.75])
    np.testing.assert_allclose(discrete.importance_ratio(f, mu), [0.5 / 0.250001, 0.5e6, 0], rtol=1e-12)
    assert (discrete.importance_ratio(mu, mu) < 1).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 6), st.floats(0.5, 20), seeds)
def test_gain_and_its_gradient_equal_the_equation(nact: int, c: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    f, mu = probabilities(random, 2, 3, nact), probabilities(random, 2, 3, nact)
    q, v, q_ret = random.normal(size=(2, 3, nact)), random.normal(size=(2, 3)), random.normal(size=(2, 3))
    actions = random.integers(nact, size=(2, 3))
    gain = discrete.gain(f, q, v, q_ret, f / (mu + EPS), actions, c)

    expected_f, expected_bc = np.zeros((2, 3)), np.zeros((2, 3))
    expected_gradient = np.zeros_like(f)
    for env, t in np.ndindex(2, 3):
        i = (env, t, actions[env, t])
        weight = min(c, f[i] / (mu[i] + EPS)) * (q_ret[env, t] - v[env, t])
        expected_f[env, t] = weight * np.log(f[i] + EPS)
        expected_gradient[i] += weight / (f[i] + EPS)
        for a in range(nact):
            j = (env, t, a)
            beyond = max(0.0, 1 - c / (f[j] / (mu[j] + EPS) + EPS))
            weight = beyond * f[j] * (q[j] - v[env, t])
            expected_bc[env, t] += weight * np.log(f[j] + EPS)
            expected_gradient[j] += weight / (f[j] + EPS)
    np.testing.assert_allclose(gain.f, expected_f, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gain.bc, expected_bc, rtol=1e-9, atol=1e-12)
    actual = policy_gradient(f, mu, q, v, q_ret, actions, c)
    np.testing.assert_allclose(actual, expected_gradient, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(gain.adv, q_ret - v)
    np.testing.assert_allclose(gain.adv_bc, q - v[..., np.newaxis])
    np.testing.assert_allclose(gain.logf, np.log(np.take_along_axis(f, actions[..., np.newaxis], -1)[..., 0] + EPS))
    np.testing.assert_allclose(gain.logf_bc, np.log(f + EPS))


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), st.floats(0.1, 50), seeds)
def test_truncation_and_correction_together_are_unbiased(nact: int, c: float, seed: int) -> None:
    """Summed over the actions of mu, the gradient is that of the expected Q, however hard the ratios are truncated."""
    random = np.random.default_rng(seed)
    f = 0.9 * probabilities(random, 1, 1, nact) + 0.1 / nact
    mu = 0.9 * probabilities(random, 1, 1, nact) + 0.1 / nact
    q = random.normal(size=(1, 1, nact))
    v = (f * q).sum(axis=-1)
    expected = q - v[..., np.newaxis]  # the gradient of Σ f (q − v), v a constant
    estimate = np.zeros_like(f)
    for a in range(nact):  # with the true Q as target
        estimate += mu[0, 0, a] * policy_gradient(f, mu, q, v, q[..., a], np.array([[a]]), c)
    np.testing.assert_allclose(estimate, expected, atol=1e-3 * (1 + np.abs(expected)).max())


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), seeds)
def test_an_infinite_c_leaves_no_correction_and_no_truncation(nact: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    f, mu = probabilities(random, 2, 3, nact), probabilities(random, 2, 3, nact)
    q, v, q_ret = random.normal(size=(2, 3, nact)), random.normal(size=(2, 3)), random.normal(size=(2, 3))
    actions = random.integers(nact, size=(2, 3))
    rho = f / (mu + EPS)
    gain = discrete.gain(f, q, v, q_ret, rho, actions, np.inf)
    np.testing.assert_array_equal(gain.bc, np.zeros((2, 3)))
    rho_i, f_i = (np.take_along_axis(x, actions[..., np.newaxis], -1)[..., 0] for x in (rho, f))
    np.testing.assert_allclose(gain.f, rho_i * (q_ret - v) * np.log(f_i + EPS), rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), st.floats(1, 10), seeds)
def test_on_policy_nothing_is_corrected(nact: int, c: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    f = probabilities(random, 2, 3, nact)
    q, v, q_ret = random.normal(size=(2, 3, nact)), random.normal(size=(2, 3)), random.normal(size=(2, 3))
    gain = discrete.gain(f, q, v, q_ret, discrete.importance_ratio(f, f), random.integers(nact, size=(2, 3)), c)
    np.testing.assert_array_equal(gain.bc, np.zeros((2, 3)))


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), seeds)
def test_entropy_and_its_gradient_have_epsilon_inside(nact: int, seed: int) -> None:
    f = probabilities(np.random.default_rng(seed), 4, nact)
    np.testing.assert_allclose(discrete.entropy(f), -(f * np.log(f + EPS)).sum(axis=-1), rtol=1e-9, atol=1e-12)
    expected = -np.log(f + EPS) - f / (f + EPS)
    np.testing.assert_allclose(gradient(discrete.entropy, f), expected, rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), seeds)
def test_kl_and_its_gradient(nact: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    f, f_avg = probabilities(random, 3, nact), probabilities(random, 3, nact)
    expected = (f_avg * np.log((f_avg + EPS) / (f + EPS))).sum(axis=-1)
    np.testing.assert_allclose(discrete.kl(f_avg, f), expected, rtol=1e-9, atol=1e-12)
    actual = gradient(lambda f: discrete.kl(f_avg, f), f)
    np.testing.assert_allclose(discrete.kl_gradient(f_avg, f), actual, rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), seeds)
def test_entropy_and_kl_are_a_librarys_but_for_epsilon(nact: int, seed: int) -> None:
    """log(f + EPS) is above log f by EPS / f at most, so each f log f is off by EPS at most."""
    random = np.random.default_rng(seed)
    f, f_avg = 0.9 * probabilities(random, 4, nact) + 0.1 / nact, 0.9 * probabilities(random, 4, nact) + 0.1 / nact
    library, average = (tfp.distributions.Categorical(probs=x) for x in (f, f_avg))
    np.testing.assert_allclose(discrete.entropy(f), library.entropy(), rtol=0, atol=nact * EPS)
    ratio = (f_avg / f).max()
    np.testing.assert_allclose(discrete.kl(f_avg, f), average.kl_divergence(library), rtol=0, atol=nact * ratio * EPS)


NT, NTA = np.ones((2, 3)), np.ones((2, 3, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: discrete.select(NTA, NTA.astype(int)),
        lambda: discrete.select(NTA, np.ones((2, 4), int)),
        lambda: discrete.importance_ratio(NTA, NTA[..., :1]),
        lambda: discrete.gain(NTA, NTA, NT, NT[:, :1], NTA, NT.astype(int), 1.0),
        lambda: discrete.entropy(np.float64(0.1)),
        lambda: discrete.kl(NTA, NTA[..., :1]),
        lambda: discrete.kl_gradient(NTA, NTA[..., :1]),
    ],
)
def test_other_shapes_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"rank|dimension"):
        call()
