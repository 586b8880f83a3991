"""Columns of the replay buffer: rings of rows, each row an array [N, ...] over all environments."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

from acer_tf.errors import InputError

LEVEL = 3
"""Zstandard's default. On Breakout, level 1 is no faster, and level 4 takes 2.5 times as long to save 4 %."""

Array = NDArray[Any]
Slots = NDArray[np.int64]


class Column(Protocol):
    """A ring of rows [N, ...]."""

    @property
    def nbytes(self) -> int:
        """Bytes of the stored rows, not of the memory reserved for the ring."""

    def put(self, slot: int, row: Array) -> None:
        """Stores a row."""

    def get(self, slots: Slots) -> Array:
        """Returns [N, ...]: for each environment i, its part of row `slots[i]`."""

    def dump(self, slots: Slots) -> dict[str, Array]:
        """Returns complete rows as arrays that can be written to a file."""

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """Stores what `dump` returned.

        Raises:
            InputError: the arrays do not fit.
        """


class CompressedFrames:
    """The frames of a segment as `CompressedColumn` keeps them, in place of its `enc_obs`.

    Attributes:
        shape: [N, frames, ...].
        parts: each environment's frames, compressed.
    """

    def __init__(self, frames: Array) -> None:
        """Compresses frames [N, frames, ...] uint8; each part as a whole, to match frames with earlier ones."""
        self.shape = frames.shape
        compressor = zstandard.ZstdCompressor(level=LEVEL)
        # One stream per environment: frames resemble others of the same game, not those of the next environment.
        compressed = (compressor.compress(np.ascontiguousarray(part).data) for part in frames)
        # Copied: the compressor's own bytes reserve room for incompressible frames, a hundred times as much.
        self.parts = [memoryview(part).tobytes() for part in compressed]

    def decompressed(self) -> Array:
        """Returns the frames."""
        return _decompressed_parts(zstandard.ZstdDecompressor(), self.parts, self.shape)


class PlainColumn:
    """Stores rows unchanged."""

    def __init__(self, slots: int, row: Array) -> None:
        """Reserves memory for rows like this one."""
        # Reserved at once: pages become resident as rows arrive.
        self._rows = np.empty((slots, *row.shape), row.dtype)
        self._is_filled = np.zeros(slots, np.bool_)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored rows."""
        return int(self._rows[0].nbytes * self._is_filled.sum())

    def put(self, slot: int, row: Array) -> None:
        """Stores a row."""
        self._rows[slot] = row
        self._is_filled[slot] = True

    def get(self, slots: Slots) -> Array:
        """Returns each environment's part of the row in its slot."""
        # Row i of the draw belongs to environment i, which draws from its own history.
        return self._rows[slots, np.arange(len(slots))]

    def dump(self, slots: Slots) -> dict[str, Array]:
        """Returns complete rows."""
        return {"rows": self._rows[slots]}

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """Restores dumped rows."""
        self._rows[slots] = _fitting_rows(arrays, len(slots), self._rows.shape[1:], self._rows.dtype)
        self._is_filled[slots] = True


class FrameColumn:
    """Stores each frame once: a row [N, T + S, ...] usually begins with the last S frames of the row before.

    The frames of all rows form one ring of slots * T + S frames, in which each row overlaps the next by S. If an
    environment's part begins with different frames, bit for bit, these are kept separately until the row is
    overwritten. This happens after a reset, and just after the end of an episode, since earlier frames are then zero.
    Rows must be put into consecutive slots.
    """

    def __init__(self, slots: int, row: Array, nsteps: int) -> None:
        """Reserves memory for rows like this one, which will be put first; T is `nsteps`."""
        self._shape, self._nsteps = row.shape, nsteps
        self._nstack = row.shape[1] - nsteps
        self._frames = np.empty((len(row), slots * nsteps + self._nstack, *row.shape[2:]), row.dtype)
        self._frames[:, : self._nstack] = row[:, : self._nstack]
        self._starts = np.full(slots, -nsteps)  # the first row put follows one of these, so it starts at 0
        # Rare, so one dictionary per slot is smaller than an array of all heads.
        self._heads: list[dict[int, Array]] = [{} for _ in range(slots)]

    @property
    def nbytes(self) -> int:
        """Bytes of the stored frames, including those kept separately."""
        # The entire ring is reserved, but pages that were never written take no memory.
        share = np.mean(self._starts >= 0)
        return int(self._frames.nbytes * share) + sum(head.nbytes for heads in self._heads for head in heads.values())

    def put(self, slot: int, row: Array) -> None:
        """Stores a row."""
        # It follows the row before, whose last S frames are its first S.
        self._starts[slot] = (self._starts[slot - 1] + self._nsteps) % self._frames.shape[1]
        places, head = self._places(slot), row[:, : self._nstack]
        # After the end of an episode the stack has zeros, not the frames before: such heads are kept separately.
        differs = _bits(self._frames[:, places[: self._nstack]]) != _bits(head)
        envs = np.flatnonzero(differs.any(axis=tuple(range(1, differs.ndim))))
        self._heads[slot] = {env: head[env].copy() for env in envs.tolist()}
        self._frames[:, places[self._nstack :]] = row[:, self._nstack :]

    def get(self, slots: Slots) -> Array:
        """Returns each environment's part of the row in its slot."""
        drawn: Array = self._frames[np.arange(len(slots))[:, np.newaxis], self._places(slots)]
        # Few environments have separate heads: most draws are a single gather.
        for env, slot in enumerate(slots.tolist()):
            if env in self._heads[slot]:
                drawn[env, : self._nstack] = self._heads[slot][env]
        return drawn

    def dump(self, slots: Slots) -> dict[str, Array]:
        """Returns complete rows."""
        rows = np.empty((len(slots), *self._shape), self._frames.dtype)
        for row, slot in zip(rows, slots, strict=True):
            row[...] = self.get(np.full(len(row), slot))
        return {"rows": rows}

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """Restores dumped rows."""
        for slot, row in zip(slots, _fitting_rows(arrays, len(slots), self._shape, self._frames.dtype), strict=True):
            self.put(slot, row)

    def _places(self, slots: int | Slots) -> NDArray[np.int64]:
        """Returns the places in the ring, [..., T + S], of the rows in `slots`, [...]."""
        starts = np.asarray(self._starts[slots])[..., np.newaxis]
        places: NDArray[np.int64] = (starts + np.arange(self._shape[1])) % self._frames.shape[1]
        return places


class CompressedColumn:
    """Stores images compressed without loss, each environment's part of a row separately.

    A part holds consecutive frames of one game, which differ little: in Breakout parts take about 1 % of their size.
    """

    def __init__(self, slots: int, shape: tuple[int, ...]) -> None:
        """Prepares for rows of this shape, [N, frames, ...] uint8."""
        self._shape = shape
        self._parts: list[list[bytes]] = [[] for _ in range(slots)]
        self._decompressor = zstandard.ZstdDecompressor()

    @property
    def nbytes(self) -> int:
        """Bytes of the stored parts, compressed."""
        return sum(len(part) for parts in self._parts for part in parts)

    def put(self, slot: int, row: Array | CompressedFrames) -> None:
        """Stores a row, which is compressed unless it already is."""
        self._parts[slot] = (row if isinstance(row, CompressedFrames) else CompressedFrames(row)).parts

    def get(self, slots: Slots) -> Array:
        """Returns each environment's part of the row in its slot."""
        parts = [self._parts[slot][env] for env, slot in enumerate(slots)]
        return _decompressed_parts(self._decompressor, parts, self._shape)

    def dump(self, slots: Slots) -> dict[str, Array]:
        """Returns complete rows."""
        parts = [part for slot in slots for part in self._parts[slot]]
        # Parts differ in length: one array holds the bytes, another the lengths.
        sizes = np.array([len(part) for part in parts], np.int64).reshape(len(slots), -1)
        return {"parts": np.frombuffer(b"".join(parts), np.uint8), "sizes": sizes}

    def load(self, slots: Slots, arrays: dict[str, Array]) -> None:
        """Restores dumped rows."""
        if arrays.keys() != {"sizes", "parts"}:
            raise InputError("saved replay is not compressed, but this run's is; give the same compress_replay.")
        sizes, data = arrays["sizes"], arrays["parts"].tobytes()
        if sizes.shape != (expected := (len(slots), self._shape[0])):
            raise InputError(f"saved replay has {sizes.shape} parts; expected {expected}.")
        if (sizes < 0).any() or sizes.sum() != len(data):
            raise InputError(f"saved replay is damaged: its parts have {len(data)} bytes; expected {sizes.sum()}.")
        # Each part is checked now, so that damage does not surface hours later in a draw.
        stops = np.cumsum(sizes).reshape(sizes.shape)
        for slot, starts_of_row, stops_of_row in zip(slots, stops - sizes, stops, strict=True):
            self._parts[slot] = [data[i:j] for i, j in zip(starts_of_row, stops_of_row, strict=True)]
            for part in self._parts[slot]:
                self._check(part)

    def _check(self, part: bytes) -> None:
        """Checks the size in the header before trusting it, then that the part is complete and nothing follows it."""
        expected = math.prod(self._shape[1:])
        try:
            size = zstandard.frame_content_size(part)  # -1: not in the header
            if size == expected:
                self._decompressor.decompress(part, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise InputError(f"saved replay is damaged: frames cannot be decompressed ({error}).") from error
        if size != expected:
            raise InputError(f"saved replay is damaged: frames would decompress to {size} bytes; expected {expected}.")


def _decompressed_parts(
    decompressor: zstandard.ZstdDecompressor, parts: Sequence[bytes], shape: tuple[int, ...]
) -> Array:
    """Decompresses each environment's part directly into the returned array."""
    frames = np.empty(shape, np.uint8)  # every part is written in full below
    for part, row in zip(parts, frames, strict=True):
        decompressor.stream_reader(part).readinto(row)
    return frames


def _fitting_rows(arrays: dict[str, Array], count: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    # Shapes come from a file, so they are checked before anything is copied.
    rows = arrays.get("rows", np.empty(0))
    if rows.shape != (count, *shape) or rows.dtype != dtype:
        raise InputError(f"saved replay has rows {rows.shape} {rows.dtype}; expected {(count, *shape)} {dtype}.")
    return rows


def _bits(array: Array) -> NDArray[np.uint8]:
    """Views an array as bytes, for bit-for-bit comparison: -0.0 is not 0.0."""
    return np.ascontiguousarray(array).view(np.uint8)
