import json
from pathlib import Path

import numpy as np
import pytest
from numpy.random import RandomState

from acer_tf.errors import InputError
from acer_tf.networks.initializers import Orthogonal, orthogonal

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "ortho_init.npz")
CASES = json.loads(str(GOLDEN["config"]))["cases"]


@pytest.mark.parametrize("j", range(len(CASES)))
def test_equals_what_baselines_recorded(j: int) -> None:
    case = CASES[j]
    weight = orthogonal(tuple(case["shape"]), case["scale"], RandomState(case["np_seed"]))
    assert weight.dtype == np.float32
    # The singular value decomposition is the linear algebra library's: equal to its last digits, not to the bit.
    np.testing.assert_allclose(weight, GOLDEN[f"{j}/w"], atol=1e-6)


@pytest.mark.parametrize("shape", [(4, 64), (64, 3), (3, 3, 2, 40), (5, 5, 2, 7)])
def test_all_singular_values_are_the_gain(shape: tuple[int, ...]) -> None:
    weight = orthogonal(shape, 1.5, RandomState(0)).reshape(-1, shape[-1])
    np.testing.assert_allclose(np.linalg.svd(weight, compute_uv=False), 1.5, rtol=1e-5)


def test_successive_draws_go_on_with_the_stream() -> None:
    initializer, rng = Orthogonal(2.0, RandomState(3)), RandomState(3)
    for shape in ((4, 5), (2, 2, 3, 4)):
        np.testing.assert_array_equal(initializer(shape), orthogonal(shape, 2.0, rng))


@pytest.mark.parametrize("shape", [(4, 10**9), (10**5, 10**6), (8, 8, 4, 10**10)])
def test_a_weight_that_memory_does_not_hold_is_refused_before_it_is_drawn(shape: tuple[int, ...]) -> None:
    rng = RandomState(0)
    before = rng.get_state(legacy=False)["state"]["pos"]
    with pytest.raises(InputError, match=r"to draw a weight of shape \(.*\) would take \S+ GiB, but \S+ GiB are free"):
        orthogonal(shape, 1.0, rng)
    assert rng.get_state(legacy=False)["state"]["pos"] == before
