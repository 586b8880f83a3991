"""Error measures between computed and recorded arrays, and the result of a comparison.

An infinity or NaN equals only itself; compared with anything else, the error is infinite, as for different sizes.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class UnsupportedError(Exception):
    """The recorded feature does not exist in this package; the message names it."""


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A compared quantity; it passes if `error` is at most `tolerance`."""

    name: str
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """True if the error is within the tolerance."""
        return self.error <= self.tolerance

    @property
    def severity(self) -> float:
        """Error divided by tolerance; above 1 if the comparison failed."""
        if self.tolerance > 0:
            return self.error / self.tolerance
        return 0.0 if self.passed else math.inf

    def as_json(self) -> dict[str, Any]:
        """Returns the fields; an infinite error, which JSON cannot represent, as text."""
        error = self.error if math.isfinite(self.error) else str(self.error)
        return {"quantity": self.name, "error": error, "tolerance": self.tolerance}


@dataclasses.dataclass(frozen=True)
class Case:
    """Result of comparing one recording.

    Attributes:
        name: name of the file without suffix.
        kind: kind of the recording.
        status: "pass", "fail", "unsupported" (a feature that this package lacks) or "skipped" (nothing to compare).
        quantities: the compared quantities.
        note: the reason if nothing was compared.
    """

    name: str
    kind: str
    status: str
    quantities: tuple[Quantity, ...] = ()
    note: str = ""

    @property
    def worst(self) -> Quantity | None:
        """The quantity with the largest error relative to its tolerance; None if nothing was compared."""
        return max(self.quantities, key=lambda quantity: quantity.severity, default=None)

    def as_json(self) -> dict[str, Any]:
        """Returns name, kind, status and worst quantity."""
        worst = self.worst.as_json() if self.worst else None
        return {"case": self.name, "kind": self.kind, "status": self.status, "worst": worst}


def relative(ours: ArrayLike, recorded: ArrayLike) -> float:
    """Returns the largest difference divided by the largest recorded value; compares flattened arrays."""
    difference, value = _differences(ours, recorded)
    return float(difference.max(initial=0) / (value.max(initial=0) or 1.0))


def scalar(ours: ArrayLike, recorded: ArrayLike) -> float:
    """Returns the largest |difference| / (|value| + 1e-3)."""
    difference, value = _differences(ours, recorded)
    return float((difference / (value + 1e-3)).max(initial=0))


def absolute(ours: ArrayLike, recorded: ArrayLike) -> float:
    """Returns the largest difference."""
    return float(_differences(ours, recorded)[0].max(initial=0))


def exact(ours: ArrayLike, recorded: ArrayLike) -> float:
    """Returns the largest difference; infinity if shape or dtype differ."""
    ours, recorded = np.asarray(ours), np.asarray(recorded)
    if ours.shape != recorded.shape or ours.dtype != recorded.dtype:
        return math.inf
    return absolute(ours, recorded)


def _differences(ours: ArrayLike, recorded: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns |difference| and |recorded| of the finite entries; a single infinity if size or other entries differ."""
    a, b = (np.asarray(array, np.float64).reshape(-1) for array in (ours, recorded))
    if a.size != b.size:
        return np.array([np.inf]), np.zeros(1)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.array([np.inf]), np.zeros(1)
    return np.abs(a[finite] - b[finite]), np.abs(b[finite])


class Measure(NamedTuple):
    """An error measure, and the largest error that passes."""

    error: Callable[[ArrayLike, ArrayLike], float]
    tolerance: float

    def __call__(self, name: str, ours: ArrayLike, recorded: ArrayLike) -> Quantity:
        """Compares a computed array with the recorded one."""
        return Quantity(name, self.error(ours, recorded), self.tolerance)


EXACT = Measure(exact, 0.0)
ARRAY = Measure(relative, 1e-4)
FIRST_UPDATE = Measure(relative, 2e-5)
"""For the first gradients, and for parameters after the first update."""
SCALAR = Measure(scalar, 1e-3)
DOUBLE = Measure(relative, 1e-9)
"""For float64 results from identical inputs."""
DRIFT = Measure(absolute, 1e-5)
"""For parameters after many updates."""
