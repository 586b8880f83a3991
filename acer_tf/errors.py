"""What went wrong: the input (and how to name the nearest valid choice), or the environments."""

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Mapping
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


@contextlib.contextmanager
def failures_told() -> Iterator[None]:
    """Makes a context for steps and resets of environments: whatever they raise is an `EnvironmentFailedError`.

    What this package itself raises stays as it is: `InputError` and `EnvironmentFailedError`.
    """
    try:
        yield
    except (InputError, EnvironmentFailedError):
        raise
    except Exception as error:
        raise EnvironmentFailedError(f"an environment raised {type(error).__name__}: {error}") from error


def nearest(name: str, choices: Iterable[str], n: int = 3) -> list[str]:
    """Returns the `n` choices most similar to `name`, best first, ignoring case."""
    by_lower = {choice.lower(): choice for choice in choices}
    return [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=n, cutoff=0.0)]
