"""Converts spaces to JSON values and back."""

import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from numpy.typing import NDArray

LARGEST = 2**24
"""Most entries and choices of a space that is read, so that a small file cannot become large arrays."""
MOST_PARTS = 10_000
"""Most parts of a space, including parts that hold others, as each takes some memory."""


def space_to_data(space: gymnasium.Space[Any]) -> dict[str, Any]:
    """Returns a space as JSON values; equal bounds of a Box are written once.

    Raises:
        TypeError: the space is neither gymnasium's Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple, nor a
            space of strings.
    """
    match space:
        case Box():
            bounds = {"low": _bound(space.low), "high": _bound(space.high)}
            return {"type": "Box", "shape": list(space.shape), "dtype": space.dtype.name, **bounds}
        case Discrete():
            return {"type": "Discrete", "n": int(space.n), "start": int(space.start), "dtype": space.dtype.name}
        case MultiDiscrete():
            numbers = {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
            return {"type": "MultiDiscrete", **numbers, "dtype": space.dtype.name}
        case MultiBinary():
            return {"type": "MultiBinary", "shape": list(space.shape)}
        case _ if space.dtype is not None and space.dtype.kind == "U":
            return {"type": "Text"}
        case Dict():
            return {"type": "Dict", "parts": [[name, space_to_data(part)] for name, part in space.spaces.items()]}
        case Tuple():
            return {"type": "Tuple", "parts": [space_to_data(part) for part in space.spaces]}
    raise TypeError(f"a {type(space).__name__} cannot be written")


def space_from_data(data: Mapping[str, Any]) -> gymnasium.Space[Any]:
    """Returns the space that `space_to_data` wrote.

    Raises:
        ValueError: the space is larger than `LARGEST`, has more than `MOST_PARTS`, or does not consist of numbers.
        KeyError: a value is missing or unknown; other values raise whatever gymnasium's spaces raise.
    """
    sizes = list(itertools.islice(_sizes(data), MOST_PARTS + 1))
    if len(sizes) > MOST_PARTS:
        raise ValueError(f"a space has more than {MOST_PARTS:,} parts")
    if (size := sum(sizes)) > LARGEST:
        raise ValueError(f"a space has {size:,} numbers or choices; expected at most {LARGEST:,}")
    return _space(data)


def _sizes(data: Mapping[str, Any]) -> Iterator[int]:
    """Yields the number of entries or choices of a space, or 0 followed by those of its parts."""
    match data["type"]:
        case "Box" | "MultiBinary":
            # A negative size must not offset another, and other axes must be bounded even beside an axis of 0.
            yield abs(math.prod(int(length) or 1 for length in data["shape"]))
        case "Discrete":
            yield abs(int(data["n"]))
        case "MultiDiscrete":
            yield sum(abs(int(n)) for n in np.asarray(data["nvec"], object).flat)
        case "Text":
            yield 0
        case "Dict" | "Tuple" as kind:
            yield 0
            for part in data["parts"]:
                yield from _sizes(part[1] if kind == "Dict" else part)
        case other:
            raise KeyError(other)


def _space(data: Mapping[str, Any]) -> gymnasium.Space[Any]:
    match data["type"]:
        case "Box":
            dtype, shape = _dtype(data["dtype"]), tuple(data["shape"])
            low, high = (np.full(shape, np.asarray(data[end], dtype)) for end in ("low", "high"))
            return Box(low, high, shape, dtype.type)
        case "Discrete":
            return Discrete(data["n"], start=data["start"], dtype=_integer(data))
        case "MultiDiscrete":
            return MultiDiscrete(data["nvec"], start=data["start"], dtype=_integer(data))
        case "MultiBinary":
            return MultiBinary(data["shape"] if len(data["shape"]) != 1 else data["shape"][0])
        case "Text":
            return Text(LARGEST)  # agents do not read it, whatever its length was
        case "Dict":
            return Dict(OrderedDict((name, _space(part)) for name, part in data["parts"]))  # Dict sorts a dict
        case "Tuple":
            return Tuple([_space(part) for part in data["parts"]])
    raise KeyError(data["type"])


def _integer(data: Mapping[str, Any]) -> Any:
    return _dtype(data.get("dtype", "int64")).type


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biuf":  # text and structured types may have any size
        raise ValueError(f"a space is of type {dtype}; expected booleans, integers or floating point numbers")
    return dtype


def _bound(array: NDArray[Any]) -> Any:
    """Returns a bound as numbers, with infinities, which JSON lacks, as strings that numpy reads."""
    if array.size and (array == array.flat[0]).all():
        array = array.reshape(-1)[:1].reshape(())
    return np.where(np.isfinite(array), array.astype(object), array.astype(str).astype(object)).tolist()
