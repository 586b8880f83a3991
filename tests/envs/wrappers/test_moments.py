import numpy as np
import pytest

from acer_tf.envs.wrappers.moments import Moments


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_batches_of_any_size_give_the_moments_of_all(shape: tuple[int, ...]) -> None:
    entries = np.random.default_rng(0).normal(1e3, 0.1, (60, *shape))
    moments = Moments(shape)
    np.testing.assert_array_equal((moments.mean, moments.var), (np.zeros(shape), np.ones(shape)))
    for batch in np.split(entries, [1, 2, 10, 57]):
        moments.take_in(batch)
    np.testing.assert_allclose(moments.mean, entries.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.var, entries.var(axis=0), rtol=1e-6)
    assert moments.count == 60
