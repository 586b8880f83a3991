"""Traced functions without tf.function's dispatch."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

SMALL_BYTES = 1 << 20
"""Functions of more bytes than this are not called as operations: it made the nature network's update 5 % slower."""

Call = Callable[[Sequence[NDArray[Any]]], Any]
"""A traced function of flat arguments."""


class Traced:
    """A function of arrays, or structures of arrays, traced once per combination of shapes and called directly.

    tf.function looks at its arguments anew in each call; for a small network that takes longer than the arithmetic.
    """

    def __init__(self, function: Callable[..., Any], is_stacked: bool = False) -> None:
        """Prepares a function; it is traced when first called.

        Args:
            function: takes and returns structures (`tf.nest`) of tensors.
            is_stacked: whether the arrays are stacks [K, ...], of any K with one trace.
        """
        self._function = function
        self._first_free = 1 if is_stacked else 0
        self._calls: dict[tuple[tuple[int, ...], ...], Call] = {}

    @property
    def traces(self) -> int:
        """Number of times that the function was traced."""
        return len(self._calls)

    def __call__(self, *structures: Any) -> Any:
        """Calls the function.

        Args:
            structures: of arrays; the same structures and dtypes in every call. `()` stands for what is left out. The
                arrays need not be copied: a result or a variable that is given one of them as it is may share its
                memory.
        """
        arrays = tf.nest.flatten(structures)
        shapes = tuple([array.shape[self._first_free :] for array in arrays])
        call = self._calls.get(shapes)
        if call is None:
            call = self._calls[shapes] = self._trace(structures, arrays)
        return call(arrays)

    def _trace(self, structures: Any, arrays: Sequence[NDArray[Any]]) -> Call:
        free = [None] * self._first_free
        specs = [tf.TensorSpec([*free, *array.shape[self._first_free :]], array.dtype) for array in arrays]

        def flat(*tensors: tf.Tensor) -> Any:
            return self._function(*tf.nest.pack_sequence_as(structures, tensors))

        function = tf.function(flat, autograph=False).get_concrete_function(*specs)
        is_small = sum(array.nbytes for array in arrays) <= SMALL_BYTES
        return _operation(function) if is_small else _plain(function)


def _operation(function: Any) -> Call:
    """Returns the operation that runs a concrete function's graph; called as one, it takes a third of the time."""
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


def _plain(function: Any) -> Call:
    return lambda arrays: function(*map(tf.constant, arrays))
