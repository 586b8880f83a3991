"""Running mean and variance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Moments:
    """Mean and variance of all entries so far.

    Attributes:
        mean: float64, in the shape of an entry; 0 before the first.
        var: likewise; 1 before the first.
        count: number of entries.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Takes the shape of an entry."""
        self.count: float = 0
        self.mean: Array = np.zeros(shape)
        self.var: Array = np.ones(shape)

    def take_in(self, entries: Array) -> None:
        """Merges the moments of N entries, [N, ...], with those of all before (Chan, Golub and LeVeque, 1983)."""
        before, self.count = self.count, self.count + len(entries)
        share = len(entries) / self.count
        away = entries.mean(axis=0) - self.mean
        self.mean = self.mean + share * away
        self.var = (1 - share) * self.var + share * entries.var(axis=0) + before / self.count * share * away**2
