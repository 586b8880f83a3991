from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from acer_tf.system.traced import SMALL_BYTES, Traced


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


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize("size", [3, SMALL_BYTES])
def test_a_function_takes_structures_and_leaves_out_what_is_empty(size: int) -> None:
    def add(pair: Pair, more: dict[str, tf.Tensor]) -> tf.Tensor:
        assert pair.first == ()
        return pair.second - more["a"] / more["b"]

    traced, x = Traced(add), np.arange(size, dtype=np.float32)
    for _ in range(2):
        result = traced(Pair((), x), {"b": np.full(size, 2, np.float32), "a": x})
        np.testing.assert_array_equal(result, x / 2)
    assert traced.traces == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x + 1,
        lambda x: (x, 2 * x),
        lambda x: {"b": x, "a": -x},
        lambda x: Pair(Pair(x, None), -x),
        lambda _: None,
    ],
    ids=["one", "two", "by name", "nested", "nothing"],
)
def test_what_a_function_returns_comes_back_in_its_structure(make: Callable[[tf.Tensor], Any]) -> None:
    x = np.arange(3, dtype=np.float32)
    expected = make(x)
    for _ in range(2):
        returned = Traced(make)(x)
        tf.nest.assert_same_structure(returned, expected)
        for left, right in zip(tf.nest.flatten(returned), tf.nest.flatten(expected), strict=True):
            np.testing.assert_array_equal(left, right)


def test_variables_are_read_and_written_at_each_call() -> None:
    total = tf.Variable(0.0)

    def add(x: tf.Tensor) -> None:
        total.assign_add(x)

    traced = Traced(add)
    for _ in range(3):
        traced(np.float32(2))
    assert total.numpy() == 6
    total.assign(10)
    traced(np.float32(2))
    assert total.numpy() == 12


def test_errors_come_through() -> None:
    traced = Traced(lambda x: tf.debugging.check_numerics(x, "not a number"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
        traced(np.float32(np.nan))
    assert traced(np.float32(1)) == 1


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int32, np.int64, np.float32, np.float64])
def test_arrays_of_any_kind_and_layout_are_read_and_not_written(dtype: type) -> None:
    traced = Traced(lambda x: (tf.logical_not(x) if x.dtype == tf.bool else x + tf.ones([], x.dtype),))
    matrix = (np.arange(4096).reshape(64, 64) % 2).astype(dtype)
    large = np.tile(matrix, (SMALL_BYTES // matrix.nbytes + 1, 1))
    for array in (matrix, np.asfortranarray(matrix.T), matrix[1:, ::3], np.broadcast_to(matrix[0], (5, 64)), large):
        before = array.copy()
        (returned,) = traced(array)
        assert returned.dtype == dtype
        np.testing.assert_array_equal(returned, ~before if dtype is np.bool_ else before + 1)
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_kept_inputs_give_the_results_of_new_ones(dtype: type) -> None:
    def sums(xs: tuple[tf.Tensor, tf.Tensor], factor: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        first, second = (tf.cast(x, tf.float64) for x in xs)
        return factor * (first + second), tf.reduce_sum(first)

    kept, rng, found = Traced(sums, keeps_inputs=True), np.random.RandomState(0), []
    for shape in ((2, 3), (2, 3), (4,), (0, 2), (2, 3)):
        x, y = (rng.randint(0, 2, 2 * np.prod(shape)).astype(dtype)[::2].reshape(shape) for _ in range(2))
        factor = np.asarray(rng.rand())
        total = factor * (x.astype(np.float64) + y)
        found.append((kept((x, y), factor), (total, x.astype(np.float64).sum())))
    for results, expected in found:  # after all calls: none changed the results of one before
        for result, array in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, array)
    assert kept.traces == 3


def test_kept_stacks_of_any_size_share_a_trace() -> None:
    kept = Traced(lambda x, y: x + y[:, None], is_stacked=True, keeps_inputs=True)
    for size in (1, 4, 2, 4):
        x, y = np.full((size, 3), size, np.float32), np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(kept(x, y), x + y[:, None])
    assert kept.traces == 1


def test_a_variable_keeps_the_number_it_was_given() -> None:
    variable = tf.Variable(0.0)
    kept = Traced(
        lambda x, rate: tf.cond(x[0] > 0, lambda: variable.assign(rate), lambda: variable.read_value()),
        keeps_inputs=True,
    )
    for x, rate in ((1, 5), (0, 7)):
        kept(np.full(1, x, np.float32), np.asarray(rate, np.float32))
        assert variable.numpy() == 5


def test_threads_may_share_a_function_that_keeps_its_inputs() -> None:
    kept = Traced(lambda x: tf.reduce_sum(tf.matmul(x, x)), keeps_inputs=True)
    kept(np.zeros((64, 64), np.float32))

    def wrong(value: int) -> int:
        x = np.full((64, 64), value, np.float32)
        return sum(float(kept(x)) != 64**3 * value**2 for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wrong, range(4))) == [0] * 4
