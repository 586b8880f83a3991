"""Objects in a pickle: builds arrays, dtypes, scalars, bytes, ordered dicts and sets; all others stay `Inert`."""

import math
import re
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from acer_tf.storage.arrays import LARGEST_EMPTY

MOST_AXES = 32

_NUMERIC = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16)")
_DTYPE = "numpy.dtype"
_ARRAY, _SCALAR, _BUFFER = (
    {f"numpy.{core}.{name}" for core in ("core", "_core")}
    for name in ("multiarray._reconstruct", "multiarray.scalar", "numeric._frombuffer")
)
_WRAPPER = "joblib.numpy_pickle.NumpyArrayWrapper"
_ELSEWHERE = ("numpy_pickle_compat.NDArrayWrapper", "numpy_pickle.NDArrayWrapper", "numpy_pickle.ZNDArrayWrapper")


class Inert:
    """A placeholder for a class, function or object that a pickle names: nothing is looked up or can be called.

    Attributes:
        name: module and name, those of the class for an object.
        arguments: arguments of the call that would have made the object; None for a class or function.
        state: the argument that the object's `__setstate__` would have received; None without one.
        key: the object's key in the pickle's memo; None if it is not there.
    """

    __slots__ = ("arguments", "key", "name", "state")

    def __init__(self, name: str, arguments: tuple[Any, ...] | None = None) -> None:
        self.name = name
        self.arguments = arguments
        self.state: Any = None
        self.key: int | None = None

    @property
    def short_name(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]


def called(name: str, arguments: tuple[Any, ...]) -> Any:
    """Returns the result of a call in a pickle: data if the function is a known constructor of data, else `Inert`."""
    match name, arguments:
        case "copyreg._reconstructor" | "copy_reg._reconstructor", (Inert() as cls, Inert(), None):
            return Inert(cls.name, ())  # an object as written by protocols 0 and 1
        case "collections.OrderedDict", ():
            return {}
        case "builtins.set" | "builtins.frozenset" | "__builtin__.set" | "__builtin__.frozenset", (list() as items,):
            return items
        case "builtins.bytes" | "__builtin__.bytes", ():
            return b""
        case "_codecs.encode", (str() as text, "latin1" | "latin-1"):
            return text.encode("latin-1")
        case _, (np.dtype() as dtype, bytes() | str() as data) if name in _SCALAR:
            return _array(dtype, (), data, "C").item()
        case _, (bytes() as data, np.dtype() as dtype, tuple() as shape, str() as order) if name in _BUFFER:
            return _array(dtype, shape, data, order)
    return Inert(name, arguments)


def built(instance: Inert, state: Any, file: BinaryIO) -> Any:
    """Returns an object with its state set: an array or a dtype, or else the object itself.

    Joblib writes the bytes of an array to the pickle's file, after the array's description.
    """
    match instance.name, instance.arguments, state:
        case name, (str() as code, *_), (_, "<" | ">" | "|" | "=" as order, None, None, None, *_) if name == _DTYPE:
            if _NUMERIC.fullmatch(code):
                return np.dtype(code).newbyteorder(order)
        case name, _, (_, tuple() as shape, np.dtype() as dtype, is_fortran, bytes() | str() as data) if name in _ARRAY:
            return _array(dtype, shape, data, "F" if is_fortran else "C")
        case name, _, {"shape": tuple() as shape, "dtype": np.dtype() as dtype, "order": order, **rest} if (
            name.endswith(_WRAPPER)
        ):
            return _read_array(
                file, dtype, shape, order, is_aligned=rest.get("numpy_array_alignment_bytes") is not None
            )
        case name, _, _ if name.endswith(_WRAPPER):
            raise ValueError("an array in it does not hold numbers")
        case name, _, _ if name.endswith(_ELSEWHERE):
            raise ValueError("it was written by a joblib older than 0.10, which kept arrays in files of their own")
    instance.state = state
    return instance


def _read_array(
    file: BinaryIO, dtype: np.dtype[Any], shape: tuple[Any, ...], order: Any, is_aligned: bool
) -> NDArray[Any]:
    if is_aligned:
        file.read(file.read(1)[0])
    return _array(dtype, shape, file.read(_nbytes(dtype, shape)), order)


def _array(dtype: np.dtype[Any], shape: tuple[Any, ...], data: bytes | str, order: Any) -> NDArray[Any]:
    """Makes an array in native byte order; `data` is text if Python 2 pickled the bytes."""
    raw = data.encode("latin-1") if isinstance(data, str) else data
    if len(raw) != _nbytes(dtype, shape):
        raise ValueError(f"it has {len(raw)} bytes for an array of {_nbytes(dtype, shape)}")
    if order not in ("C", "F"):
        raise ValueError("an array in it is neither in C nor in Fortran order")
    array = np.frombuffer(raw, dtype).reshape(shape, order=order)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _nbytes(dtype: np.dtype[Any], shape: tuple[Any, ...]) -> int:
    if len(shape) > MOST_AXES or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("an array in it has no shape")
    if 0 in shape and math.prod(length or 1 for length in shape) > LARGEST_EMPTY:
        raise ValueError(f"an array in it has the shape {str(shape)[:80]}, which is too large")
    return int(math.prod(shape)) * dtype.itemsize
