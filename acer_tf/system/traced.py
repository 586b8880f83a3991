"""Traced functions without tf.function's dispatch."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

SMALL_BYTES = 1 << 20
"""With more than that, functions are not called as operations: the nature network's update took 5 % longer so."""


class Traced:
    """A function of arrays, traced once per combination of their shapes and called directly.

    tf.function looks at its arguments anew in each call; for a small network that takes longer than the arithmetic.
    """

    def __init__(self, function: Callable[..., Any], is_stacked: bool = False) -> None:
        """Takes the function; it gets tensors and is traced when first called.

        Args:
            function: of tensors.
            is_stacked: whether the arrays are stacks [K, ...], of any K with one trace.
        """
        self._function = tf.function(function, autograph=False)
        self._first_free = 1 if is_stacked else 0
        self._traces: dict[tuple[tuple[int, ...], ...], Callable[[Sequence[NDArray[Any]]], Any]] = {}

    def __call__(self, *arrays: NDArray[Any]) -> Any:
        """Calls the function.

        Args:
            arrays: of the same dtypes in every call. They need not be copied: a result or a variable that is given one
                of them as it is may share its memory.
        """
        shapes = tuple(array.shape[self._first_free :] for array in arrays)
        if shapes not in self._traces:
            free = [None] * self._first_free
            specs = [tf.TensorSpec([*free, *s], x.dtype) for s, x in zip(shapes, arrays, strict=True)]
            function = self._function.get_concrete_function(*specs)
            is_small = sum(array.nbytes for array in arrays) <= SMALL_BYTES
            self._traces[shapes] = _operation(function) if is_small else _plain(function)
        return self._traces[shapes](arrays)


def _operation(function: Any) -> Callable[[Sequence[NDArray[Any]]], Any]:
    """Makes of a concrete function the operation that runs its graph; called as one, it takes a third of the time."""
    if tf.config.list_physical_devices("GPU"):
        return _plain(function)  # only a function's call finds out what goes to which device
    captured, structure = function.captured_inputs, function.structured_outputs
    dtypes = [output.dtype for output in function.outputs]

    def call(arrays: Sequence[NDArray[Any]]) -> tuple[tf.Tensor, ...]:
        # The operation reads the arrays themselves where tf.constant would copy them.
        return tuple(tf.raw_ops.StatefulPartitionedCall(args=[*arrays, *captured], Tout=dtypes, f=function))

    def packed(arrays: Sequence[NDArray[Any]]) -> Any:
        outputs = iter(call(arrays))
        return tf.nest.map_structure(lambda leaf: None if leaf is None else next(outputs), structure)

    is_flat = type(structure) is tuple and all(map(tf.is_tensor, structure))
    return call if is_flat else packed  # packing two tensors would take a quarter of a small call


def _plain(function: Any) -> Callable[[Sequence[NDArray[Any]]], Any]:
    return lambda arrays: function(*map(tf.constant, arrays))
