"""Whether arrays from outside are those that are expected."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from acer_tf.errors import InputError

Array = NDArray[Any]


def check_arrays(source: str, arrays: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Checks names, shapes and kinds of arrays, and that all their numbers are finite.

    Args:
        source: where they come from; errors begin with it.
        arrays: by name.
        expected: arrays of the same names and shapes, and of dtypes that these fit into.

    Raises:
        InputError: one is missing, unknown, of another shape or kind, or not finite.
    """
    for name in sorted(expected.keys() | arrays.keys()):
        there, here = (group[name].shape if name in group else "none" for group in (arrays, expected))
        if there != here:
            raise InputError(
                f"{source} is damaged, or of another network: {name} has shape {there} there, {here} here."
            )
        numbers(f"{source} is damaged: {name}", arrays[name], expected[name].dtype)


def numbers(name: str, value: Any, dtype: DTypeLike) -> Array:
    """Returns finite numbers as an array of their own, of this dtype; errors begin with the name.

    Raises:
        InputError: they are no numbers, or of a kind that the dtype does not hold, or not finite in it.
    """
    array = np.asarray(value)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise InputError(f"{name} is of type {array.dtype}; expected numbers of type {np.dtype(dtype)}.")
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        array = array.astype(dtype)
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a number that is not finite; expected finite numbers of type {array.dtype}.")
    return array
