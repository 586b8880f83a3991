"""Traced functions without tf.function's dispatch."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray


class Traced:
    """A function of arrays, traced once per combination of their shapes and called directly.

    tf.function looks at its arguments anew in each call; for a small network that takes as long as the arithmetic.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Takes the function; it gets tensors and is traced when first called."""
        self._function = tf.function(function, autograph=False)
        self._traces: dict[tuple[tuple[int, ...], ...], Callable[..., Any]] = {}

    def __call__(self, *arrays: NDArray[Any]) -> Any:
        """Calls the function; the arrays' dtypes must be the same in every call."""
        tensors = [tf.constant(array) for array in arrays]
        shapes = tuple(array.shape for array in arrays)
        if shapes not in self._traces:
            self._traces[shapes] = self._function.get_concrete_function(*tensors)
        return self._traces[shapes](*tensors)
