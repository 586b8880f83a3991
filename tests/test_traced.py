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


def test_stacks_of_any_size_share_a_trace():
    traces = []

    def add(x, y):
        traces.append((x.shape.as_list(), y.shape.as_list()))
        return x + y[:, None]

    traced = Traced(add, is_stacked=True)
    for size in (1, 4, 2):
        x, y = np.ones((size, 3), np.float32), np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(traced(x, y), x + y[:, None])
    assert traces == [([None, 3], [None])]
