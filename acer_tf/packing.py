"""Packs observations of several parts, some of them images, into one array of bytes.

Segments, replay and checkpoints hold one array per step. Packing makes that possible without loss: images stay uint8,
replay compresses all parts together, and the network's first layer unpacks them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from acer_tf.errors import NotFiniteError


class Packed(Box):
    """The space of packed observations, [B] uint8: the bytes of all parts, one after the other.

    Attributes:
        parts: each part's space by its name: images [H, W, C] uint8, and vectors [F] float32.
    """

    def __init__(self, parts: Mapping[str, Box]) -> None:
        """Plans the packing of these parts."""
        super().__init__(0, 255, (sum(part.low.nbytes for part in parts.values()),), np.uint8)
        self.parts = dict(parts)

    def __eq__(self, other: object) -> bool:
        """Returns whether the other space packs the same parts."""
        return isinstance(other, Packed) and self.parts == other.parts

    @property
    def images(self) -> dict[str, Box]:
        """The parts that are images."""
        return {name: part for name, part in self.parts.items() if part.dtype == np.uint8}

    def pack(self, rows: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
        """Packs the entries of all parts, [..., F] each, in order; returns [..., B].

        Raises:
            NotFiniteError: a number in a vector is not finite in float32.
        """
        packed = []
        for (name, part), row in zip(self.parts.items(), rows, strict=True):
            with np.errstate(over="ignore"):
                entries = np.ascontiguousarray(row, part.dtype)
            if not np.isfinite(entries).all():
                raise NotFiniteError(f"the observation's part {name} holds a number that is not finite.", {name: row})
            packed.append(entries.view(np.uint8))
        return np.concatenate(packed, axis=-1)
