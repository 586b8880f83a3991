"""What the buffer is made of: rings of rows, each row one array of every environment."""

from typing import Any, Protocol

import blosc2
import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError

Array = NDArray[Any]
Slots = NDArray[np.int64]


class Column(Protocol):
    """A ring of rows [N, ...]."""

    def put(self, slot: int, row: Array) -> None:
        """Stores a row."""

    def get(self, slots: Slots) -> Array:
        """Returns [N, ...]: of each environment i, what row `slots[i]` holds of it."""

    def dump(self, slots: Slots) -> dict[str, Array]:
        """Returns whole rows as arrays that can be written to a file."""

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """Stores what `dump` returned.

        Raises:
            InputError: it does not fit.
        """


class PlainColumn:
    """Keeps rows as they are, each once."""

    def __init__(self, slots: int, row: Array) -> None:
        """Takes memory for rows like this one."""
        self._rows = np.empty((slots, *row.shape), row.dtype)

    def put(self, slot: int, row: Array) -> None:
        """See `Column`."""
        self._rows[slot] = row

    def get(self, slots: Slots) -> Array:
        """See `Column`."""
        return self._rows[slots, np.arange(len(slots))]

    def dump(self, slots: Slots) -> dict[str, Array]:
        """See `Column`."""
        return {"rows": self._rows[slots]}

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """See `Column`."""
        rows = arrays.get("rows", np.empty(0))
        if rows.shape != (len(slots), *self._rows.shape[1:]) or rows.dtype != self._rows.dtype:
            raise InputError(f"saved replay has rows {rows.shape[1:]} {rows.dtype}; expected {self._rows.shape[1:]}.")
        self._rows[slots] = rows


class CompressedColumn:
    """Keeps images compressed, without loss, each environment's part of a row by itself.

    A part holds consecutive frames of one game, which differ little: in Breakout parts take about 1 % of their size.
    """

    def __init__(self, slots: int, shape: tuple[int, ...]) -> None:
        """Prepares for rows of this shape, [N, frames, ...] uint8."""
        self._shape = shape
        self._parts: list[list[bytes]] = [[] for _ in range(slots)]

    def put(self, slot: int, row: Array) -> None:
        """See `Column`."""
        self._parts[slot] = [compress(part) for part in row]

    def get(self, slots: Slots) -> Array:
        """See `Column`."""
        drawn = np.empty(self._shape, np.uint8)
        for env, slot in enumerate(slots):
            blosc2.decompress2(self._parts[slot][env], dst=drawn[env])
        return drawn

    def dump(self, slots: Slots) -> dict[str, Array]:
        """See `Column`."""
        parts = [part for slot in slots for part in self._parts[slot]]
        sizes = np.array([len(part) for part in parts], np.int64).reshape(len(slots), -1)
        return {"parts": np.frombuffer(b"".join(parts), np.uint8), "sizes": sizes}

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """See `Column`."""
        if arrays.keys() != {"sizes", "parts"}:
            raise InputError("saved replay is not compressed, but this run's is; give the same compress_replay.")
        sizes, data = arrays["sizes"], arrays["parts"].tobytes()
        if sizes.shape != (len(slots), self._shape[0]) or (sizes < 0).any() or sizes.sum() != len(data):
            raise InputError(f"saved replay has {sizes.shape} parts; expected ({len(slots)}, {self._shape[0]}).")
        stops = np.cumsum(sizes).reshape(sizes.shape)
        for slot, starts_of_row, stops_of_row in zip(slots, stops - sizes, stops, strict=True):
            self._parts[slot] = [data[i:j] for i, j in zip(starts_of_row, stops_of_row, strict=True)]
            for part in self._parts[slot]:
                self._check(part)

    def _check(self, part: bytes) -> None:
        """What a part says of itself decides how much memory it will take: believed only if it is what is expected."""
        expected = int(np.prod(self._shape[1:]))
        try:
            size, packed, _ = blosc2.get_cbuffer_sizes(part)
        except (RuntimeError, ValueError, TypeError) as error:
            raise InputError(f"saved replay cannot be unpacked ({error}).") from error
        if (size, packed) != (expected, len(part)):
            raise InputError(f"saved replay would unpack to {size} bytes; expected {expected}.")


def compress(frames: Array) -> bytes:
    """Compresses an array of bytes as a whole, so that frames are matched with those before them."""
    frames = np.ascontiguousarray(frames)
    packed: bytes = blosc2.compress2(
        frames,
        codec=blosc2.Codec.ZSTD,
        clevel=1,
        filters=[blosc2.Filter.NOFILTER],
        typesize=1,
        blocksize=frames.nbytes,
        nthreads=1,
    )
    return packed
