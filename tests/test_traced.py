import numpy as np

from acer_tf.traced import Traced


def test_a_function_is_traced_once_per_shape_and_gives_fresh_results():
    traces = []

    def double(x, y):
        traces.append((tuple(x.shape), tuple(y.shape)))
        return 2 * x + y

    traced = Traced(double)
    one = np.float32(1)
    for value in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(traced(np.full(2, value, np.float32), one), np.full(2, 2 * value + 1))
    np.testing.assert_array_equal(traced(np.full(3, 5.0, np.float32), one), np.full(3, 11.0))
    np.testing.assert_array_equal(traced(np.full(2, 4.0, np.float32), one), np.full(2, 9.0))
    assert traces == [((2,), ()), ((3,), ())]
