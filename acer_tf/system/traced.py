"""Traced functions without the dispatch of tf.function."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.python.eager import context

SMALL_BYTES = 1 << 20
"""Most bytes of a function to call as an operation; the nature network's larger update was 5 % slower that way."""

ALIGNMENT = 64
"""Alignment in bytes, without which TensorFlow copies arrays."""

Call = Callable[[Sequence[NDArray[Any]]], Any]
"""A traced function with flat arguments."""


def clear_kernels() -> None:
    """Frees what TensorFlow keeps for functions called as operations, even for those that no longer exist.

    Functions in use are prepared anew in their next call. Keras does the same; there is no public way.
    """
    context.context().clear_kernel_cache()


class Traced:
    """A function of arrays, or structures of arrays, traced once per combination of shapes and called directly.

    tf.function inspects its arguments in each call, which takes longer than the arithmetic of a small network.
    """

    def __init__(self, function: Callable[..., Any], is_stacked: bool = False, keeps_inputs: bool = False) -> None:
        """Prepares a function; the first call traces it.

        Args:
            function: takes and returns structures (`tf.nest`) of tensors.
            is_stacked: whether the arrays are stacks [K, ...], with one trace for any K.
            keeps_inputs: whether to copy small arrays to where TensorFlow read those of the previous call, which is
                faster than handing them over. Then no result or variable may be an unchanged argument, as the next
                call would change it.
        """
        self._function = function
        self._first_free = 1 if is_stacked else 0
        self._keeps_inputs = keeps_inputs
        self._calls: dict[tuple[tuple[int, ...], ...], Call] = {}

    @property
    def traces(self) -> int:
        """Number of traces so far."""
        return len(self._calls)

    def __call__(self, *structures: Any) -> Any:
        """Calls the function.

        Args:
            structures: structures of arrays, with the same structure and dtypes in every call; `()` stands for an
                omitted one. Arrays may not be copied: a result or a variable that is an unchanged argument may share
                its memory.
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
        return _operation(function, self._keeps_inputs) if is_small else _plain(function)


class Inputs:
    """Memory for a function's arguments, which numpy writes and TensorFlow reads without a conversion per call."""

    def __init__(self, arrays: Sequence[NDArray[Any]], captured: Sequence[tf.Tensor]) -> None:
        """Reserves memory for arrays of these shapes and dtypes.

        Args:
            arrays: the function's arguments; those without axes are passed directly, since variables that are assigned
                one share its memory.
            captured: further inputs of the function.
        """
        self.lock = threading.Lock()
        self._buffers = [_aligned(array) if array.ndim else None for array in arrays]
        tensors = [None if buffer is None else _tensor_of(buffer) for buffer in self._buffers]
        self._args: list[Any] = [*tensors, *captured]

    def holding(self, arrays: Sequence[NDArray[Any]]) -> list[Any]:
        """Copies the arrays and returns all arguments, under the lock, which is held until the function returns."""
        for i, (buffer, array) in enumerate(zip(self._buffers, arrays, strict=True)):
            if buffer is None:
                self._args[i] = array
            else:
                buffer[...] = array
        return self._args


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Returns an empty array of the same shape and dtype at an address that TensorFlow reads from directly."""
    memory = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)


def _tensor_of(buffer: NDArray[Any]) -> tf.Tensor:
    """Returns a tensor that shares an array's memory."""
    return tf.experimental.dlpack.from_dlpack(buffer.__dlpack__())


def _operation(function: Any, keeps_inputs: bool) -> Call:
    """Returns the operation that runs a concrete function's graph, in a third of the time of calling the function."""
    if tf.config.list_physical_devices("GPU"):
        return _plain(function)  # only calling the function assigns devices
    captured, structure = function.captured_inputs, function.structured_outputs
    dtypes = [output.dtype for output in function.outputs]
    run = tf.raw_ops.StatefulPartitionedCall
    kept: dict[tuple[int, ...], Inputs] = {}

    def call(arrays: Sequence[NDArray[Any]]) -> tuple[tf.Tensor, ...]:
        # The operation reads the arrays in place; tf.constant would copy them.
        return tuple(run(args=[*arrays, *captured], Tout=dtypes, f=function))

    def call_in_place(arrays: Sequence[NDArray[Any]]) -> tuple[tf.Tensor, ...]:
        shape = arrays[0].shape
        inputs = kept.get(shape)
        if inputs is None:
            inputs = kept[shape] = Inputs(arrays, captured)
        with inputs.lock:
            return tuple(run(args=inputs.holding(arrays), Tout=dtypes, f=function))

    def packed(arrays: Sequence[NDArray[Any]]) -> Any:
        outputs = iter(chosen(arrays))
        return tf.nest.map_structure(lambda leaf: None if leaf is None else next(outputs), structure)

    # Without synchronous execution, the next call would overwrite what this one has yet to read.
    chosen = call_in_place if keeps_inputs and tf.config.experimental.get_synchronous_execution() else call
    is_flat = type(structure) is tuple and all(map(tf.is_tensor, structure))
    return chosen if is_flat else packed  # packing two tensors would take a quarter of a small call


def _plain(function: Any) -> Call:
    return lambda arrays: function(*map(tf.constant, arrays))
