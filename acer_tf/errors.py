"""What went wrong: the input (and how to name the nearest valid choice), or the environments."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray


class InputError(ValueError):
    """Input from a user that cannot work: one sentence that says what is wrong and what was expected.

    The commands print it and exit with status 2; as a library it is an ordinary `ValueError`.
    """


class NotFiniteError(InputError):
    """A number is NaN or infinite; nothing has been learned from it.

    Attributes:
        batch: the arrays that it was found in or computed from, by name.
    """

    def __init__(self, message: str, batch: Mapping[str, NDArray[Any]]) -> None:
        """Takes one sentence that names the quantity, and the arrays."""
        super().__init__(message)
        self.batch = dict(batch)


class EnvironmentFailedError(RuntimeError):
    """The environments cannot go on: one sentence that says what happened; the original traceback is in it or chained.

    What was learned so far is intact.
    """


def nearest(name: str, choices: Iterable[str], n: int = 3) -> list[str]:
    """Returns the `n` choices most similar to `name`, best first, ignoring case."""
    by_lower = {choice.lower(): choice for choice in choices}
    return [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=n, cutoff=0.0)]
