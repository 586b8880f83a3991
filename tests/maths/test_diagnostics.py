from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acer_tf.maths.diagnostics import explained_variance, mean_row_norm, share

GOLDEN = Path(__file__).parent.parent / "golden"
RECORDED = np.load(GOLDEN / "explained_variance.npz")


@pytest.mark.parametrize("j", range(5))
def test_explained_variance_equals_what_baselines_recorded(j: int) -> None:
    actual = explained_variance(RECORDED[f"ev/{j}/pred"], RECORDED[f"ev/{j}/target"])
    np.testing.assert_allclose(actual, RECORDED[f"ev/{j}/tf"], rtol=1e-5, atol=1e-6)


def test_a_constant_target_gives_minus_infinity() -> None:
    assert explained_variance(np.arange(6.0).reshape(2, 3), np.full((2, 3), 4.0)) == -np.inf


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32))
def test_explained_variance_equals_numpy(seed: int) -> None:
    prediction, target = np.random.default_rng(seed).normal(size=(2, 3, 5))
    expected = 1 - np.var(target - prediction) / np.var(target)
    np.testing.assert_allclose(explained_variance(prediction, target), expected, rtol=1e-9, atol=1e-12)


def test_mean_row_norm() -> None:
    assert mean_row_norm(np.array([[[3.0, 4.0], [0.0, 0.0]], [[6.0, 8.0], [5.0, 12.0]]])) == 7.0
    recorded = np.load(GOLDEN / "small_math.npz")
    np.testing.assert_allclose(mean_row_norm(recorded["small/p"]), recorded["small/avg_norm"], rtol=1e-6)


def test_share() -> None:
    assert share(np.array([[True, False, False], [True, True, True]])) == np.float32(4 / 6)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="dimension"):
        explained_variance(np.ones((2, 3)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="rank"):
        explained_variance(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="rank"):
        mean_row_norm(np.float64(3))
