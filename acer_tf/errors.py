"""Exceptions of this package, and the exit statuses of its commands."""

import contextlib
import enum
import importlib.util
import re
import traceback
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


GYMNASIUM_EXTRAS = {
    "box2d": "box2d",
    "classic-control": "video",
    "mujoco": "mujoco",
    "other": "video",
    "toy-text": "video",
}
"""The extra of this package that installs the same as each extra of gymnasium."""
GYMNASIUM_CHECKS = ("gymnasium.utils.passive_env_checker", "gymnasium.wrappers.common", "gymnasium.envs.registration")
"""Modules that check single environments when they are made, reset and stepped."""
LONGEST = 4000
"""Approximate limit on the characters of a message."""


class InputError(ValueError):
    """Invalid input from the user; the message says in one sentence what is wrong and what was expected.

    The commands print the message and exit with status 2; to users of the library it is a `ValueError`.
    """

    def __init__(self, message: str) -> None:
        """Cuts the middle out of a message that is too long, perhaps because it quotes a file."""
        half = LONGEST // 2
        super().__init__(message if len(message) <= LONGEST else f"{message[:half]} ... {message[-half:]}")


def type_in_words(value: object) -> str:
    """Returns the name of a value's type with its article, for messages: `an int`; `None` for None."""
    name = type(value).__name__
    is_after_an = re.match("(?!uint)[aeiou]|nd", name, re.IGNORECASE)  # an ndarray, a uint8
    return "None" if value is None else f"{'an' if is_after_an else 'a'} {name}"


def exception_in_words(error: BaseException) -> str:
    """Returns the type of an exception and its text, if it has one, for messages."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


class LockedError(InputError):
    """Another process is working in the folder."""


class SupersededError(RuntimeError):
    """A process on another host has taken over the folder; this process must no longer write to it."""


class NotFiniteError(InputError):
    """A value is NaN or infinite; the update that would have used it was not made.

    Attributes:
        batch: the arrays in which the value was found, or from which it was computed, by name.
    """

    def __init__(self, message: str, batch: "Mapping[str, NDArray[Any]]") -> None:
        """Creates the error from a sentence that names the quantity, and the arrays."""
        super().__init__(message)
        self.batch = dict(batch)


class EnvironmentFailedError(RuntimeError):
    """The environments cannot continue; the original traceback is chained or, for a worker process, in the message.

    What was learned so far is intact.
    """


class StoppedError(SystemExit):
    """SIGTERM ends the process, or a second SIGTERM during training; the code is the exit status."""


class ExitStatus(enum.IntEnum):
    """Exit status of a command; docs/reliability.md explains each."""

    DONE = 0
    FAILED = 1
    """An environment or a trial of a sweep failed; 1 is also Python's status after an unexpected error."""
    BAD_INPUT = 2
    LOCKED = 69
    """Another process is working in the folder: `EX_UNAVAILABLE` of sysexits.h."""
    SUPERSEDED = 76
    """A process on another host took over the folder."""
    HUNG_UP = 129
    """128 + SIGHUP: the terminal was closed."""
    INTERRUPTED = 130
    """128 + SIGINT: Ctrl-C."""
    STALLED = 142
    """128 + SIGALRM, as shells report it: no progress for too long."""
    TERMINATED = 143
    """128 + SIGTERM."""


def was_stopped(returncode: int) -> bool:
    """Returns whether a command ended after a signal to stop.

    Args:
        returncode: as in `subprocess`; negative if the signal came before the command had installed its handlers.
    """
    status = 128 - returncode if returncode < 0 else returncode
    return status in (ExitStatus.HUNG_UP, ExitStatus.INTERRUPTED, ExitStatus.TERMINATED)


@contextlib.contextmanager
def environment_errors() -> Iterator[None]:
    """Re-raises any exception from an environment, even `sys.exit()` in its code, as `EnvironmentFailedError`.

    If a package is missing that one of our extras installs, an `InputError` names the extra; if gymnasium's own checks
    refuse the environment, an `InputError` says why. This package's exceptions (`InputError`, `EnvironmentFailedError`)
    and those of signals (`KeyboardInterrupt`, `StoppedError`) pass through.
    """
    try:
        yield
    except (InputError, EnvironmentFailedError, KeyboardInterrupt, StoppedError):
        raise
    except BaseException as error:
        if (advice := with_own_extra(str(error))) != str(error):
            raise InputError(advice) from error
        if (reason := refusal(error)) is not None:
            raise InputError(reason) from error
        raise EnvironmentFailedError(f"an environment raised {exception_in_words(error)}") from error


def refusal(error: BaseException) -> str | None:
    """Returns why gymnasium's own checks refuse an environment, in a sentence; None for any other error."""
    if raised_in(error) not in GYMNASIUM_CHECKS:
        return None
    return f"gymnasium refuses the environment: {' '.join(str(error).split())}"


def raised_in(error: BaseException) -> str:
    """Returns the name of the module in which an exception was raised."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__"))


def with_own_extra(message: str) -> str:
    """Returns gymnasium's message about a missing package with our extra in place of its own; others unchanged."""
    found = re.search(r"gymnasium\[([\w-]+)\]", message)
    extra = GYMNASIUM_EXTRAS.get(found[1].replace("_", "-")) if found else None
    if extra is None:
        return message
    return f"{message.partition(',')[0]}; install it with: {install(extra)}."


def install(extra: str) -> str:
    """Returns the command that installs an extra of this package, quoted for any shell."""
    return f'pip install -e ".[{extra}]"'


def require(module: str, needs: str, extra: str) -> None:
    """Checks that a package is installed, without importing it.

    Args:
        module: name of the package.
        needs: beginning of the message, such as `reports need`.
        extra: extra of this package that installs it.

    Raises:
        InputError: it is not installed.
    """
    if not is_installed(module):
        raise InputError(f"{needs} {module}; install it with: {install(extra)}.")


def is_installed(module: str) -> bool:
    """Returns whether a package is installed, without importing it."""
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # a mere folder of that name has no origin
