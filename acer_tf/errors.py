"""Exceptions of this package, and the exit statuses of its commands."""

import contextlib
import difflib
import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class InputError(ValueError):
    """Invalid input from the user; the message is one sentence with what is wrong and what was expected.

    The commands print the message and exit with status 2; to users of the library it is a `ValueError`.
    """


class LockedError(InputError):
    """Another process works in the folder."""


class SupersededError(RuntimeError):
    """A process on another host has taken the folder over; this one must not write to it any more."""


class NotFiniteError(InputError):
    """A value is NaN or infinite; the update that it would have been used in was not made.

    Attributes:
        batch: the arrays that the value was found in or computed from, by name.
    """

    def __init__(self, message: str, batch: "Mapping[str, NDArray[Any]]") -> None:
        """Creates the error from a sentence that names the quantity, and the arrays."""
        super().__init__(message)
        self.batch = dict(batch)


class EnvironmentFailedError(RuntimeError):
    """The environments cannot continue; the original traceback is chained, or part of the message for a worker process.

    What was learned so far is intact.
    """


class StoppedError(SystemExit):
    """A second signal ends the process; the code is its exit status."""


class ExitStatus(enum.IntEnum):
    """Exit status of a command; docs/reliability.md explains each."""

    DONE = 0
    FAILED = 1
    """An environment failed, or a trial of a sweep; 1 is also Python's status after an error nobody expected."""
    BAD_INPUT = 2
    LOCKED = 69
    """Another process works in the folder: `EX_UNAVAILABLE` of sysexits.h."""
    SUPERSEDED = 76
    """A process on another host took the folder over."""
    HUNG_UP = 129
    """128 + SIGHUP: the terminal was closed."""
    INTERRUPTED = 130
    """128 + SIGINT: Ctrl-C."""
    STALLED = 142
    """128 + SIGALRM, as shells tell it: no progress for too long."""
    TERMINATED = 143
    """128 + SIGTERM."""


@contextlib.contextmanager
def environment_errors() -> Iterator[None]:
    """Re-raises any exception from an environment as `EnvironmentFailedError`, `sys.exit()` in its code included.

    Those of this package (`InputError`, `EnvironmentFailedError`) and of signals (`KeyboardInterrupt`, `StoppedError`)
    pass unchanged.
    """
    try:
        yield
    except (InputError, EnvironmentFailedError, KeyboardInterrupt, StoppedError):
        raise
    except BaseException as error:
        raise EnvironmentFailedError(f"an environment raised {type(error).__name__}: {error}") from error


def nearest(name: str, choices: Iterable[str], n: int = 3) -> list[str]:
    """Returns the `n` choices most similar to `name`, best first, ignoring case."""
    by_lower = {choice.lower(): choice for choice in choices}
    return [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=n, cutoff=0.0)]
