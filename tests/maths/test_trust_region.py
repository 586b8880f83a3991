import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acer_tf.maths.trust_region import EPS, project

sizes, deltas, seeds = st.integers(2, 6), st.floats(0, 5), st.integers(0, 2**32)


@settings(deadline=None, max_examples=60)
@given(sizes, deltas, seeds)
def test_equals_the_equation_row_by_row(nact: int, delta: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    g, k = 3 * random.normal(size=(2, 2, 4, nact))
    projection = project(g, k, delta)
    for row in np.ndindex(2, 4):
        k_dot_g = k[row] @ g[row]
        adj = max(0.0, (k_dot_g - delta) / (k[row] @ k[row] + 1e-6))
        np.testing.assert_allclose(projection.k_dot_g[row], k_dot_g, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(projection.adj[row], adj, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(projection.z[row], g[row] - adj * k[row], rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(sizes, deltas, seeds)
def test_is_the_nearest_point_of_the_half_space(nact: int, delta: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    g, k = 3 * random.normal(size=(2, 2, 4, nact))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    z = project(g, k, delta).z.numpy()
    slack = 2 * EPS * np.abs((k * g).sum(axis=-1)).max()
    assert ((k * z).sum(axis=-1) <= delta + slack).all()

    other = 3 * random.normal(size=(300, 2, 4, nact)) + g
    inside = (k * other).sum(axis=-1) <= delta
    distance = np.where(inside, np.linalg.norm(other - g, axis=-1), np.inf)
    assert (np.linalg.norm(z - g, axis=-1) <= distance.min(axis=0) + slack).all()


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_moves_only_rows_that_point_too_far(nact: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    g, k = 3 * random.normal(size=(2, 2, 4, nact))
    np.testing.assert_array_equal(project(g, k, np.inf).z, g)
    projection = project(g, k, 1.0)
    unmoved = (k * g).sum(axis=-1) <= 1
    np.testing.assert_array_equal((projection.z.numpy() == g).all(axis=-1), unmoved)
    np.testing.assert_array_equal(projection.adj.numpy() == 0, unmoved)


def test_a_vanishing_k_changes_nothing() -> None:
    g = np.ones((1, 1, 3))
    np.testing.assert_array_equal(project(g, np.zeros((1, 1, 3)), 1.0).z, g)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="dimension"):
        project(np.ones((2, 3, 4)), np.ones((2, 3, 1)), 1.0)
