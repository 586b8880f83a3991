"""Traced functions without tf.function's dispatch."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray


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
        self._traces: dict[tuple[tuple[int, ...], ...], Callable[[Sequence[tf.Tensor]], Any]] = {}

    def __call__(self, *arrays: NDArray[Any]) -> Any:
        """Calls the function; the arrays' dtypes must be the same in every call."""
        tensors = [tf.constant(array) for array in arrays]
        shapes = tuple(array.shape[self._first_free :] for array in arrays)
        if shapes not in self._traces:
            free = [None] * self._first_free
            specs = [tf.TensorSpec([*free, *s], x.dtype) for s, x in zip(shapes, tensors, strict=True)]
            self._traces[shapes] = _operation(self._function.get_concrete_function(*specs))
        return self._traces[shapes](tensors)


def _operation(function: Any) -> Callable[[Sequence[tf.Tensor]], Any]:
    """Makes of a concrete function the operation that runs its graph; called as one, it takes a third of the time."""
    if tf.config.list_physical_devices("GPU"):
        return lambda tensors: function(*tensors)  # only a function's call finds out what goes to which device
    captured, structure = function.captured_inputs, function.structured_outputs
    dtypes = [output.dtype for output in function.outputs]

    def call(tensors: Sequence[tf.Tensor]) -> tuple[tf.Tensor, ...]:
        return tuple(tf.raw_ops.StatefulPartitionedCall(args=[*tensors, *captured], Tout=dtypes, f=function))

    def packed(tensors: Sequence[tf.Tensor]) -> Any:
        outputs = iter(call(tensors))
        return tf.nest.map_structure(lambda leaf: None if leaf is None else next(outputs), structure)

    is_flat = type(structure) is tuple and all(map(tf.is_tensor, structure))
    return call if is_flat else packed  # packing two tensors would take a quarter of a small call
