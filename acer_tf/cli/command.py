"""The `main` of a command: its flags, its exit status and one-line errors."""

import errno
import functools
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from acer_tf.cli.parsing import parse
from acer_tf.errors import EnvironmentFailedError, ExitStatus, InputError, LockedError, StoppedError, SupersededError
from acer_tf.system.console import keep_output_open, say
from acer_tf.system.interrupts import raise_on_interrupt, raise_on_termination

STATUSES: Mapping[type[Exception], ExitStatus] = {
    SupersededError: ExitStatus.SUPERSEDED,
    LockedError: ExitStatus.LOCKED,
    InputError: ExitStatus.BAD_INPUT,
    EnvironmentFailedError: ExitStatus.FAILED,
}
"""Exit status for each kind of error, subclasses before their base classes."""

Flags = TypeVar("Flags")
Main = Callable[[Sequence[str]], int]
"""Function from the words after the command to the exit status."""


def guarded(main: Main) -> Main:
    """Wraps `main` so that expected errors become one line on standard error and an exit status from `STATUSES`.

    The line follows an environment's own traceback, if any. Ctrl-C yields status 130, SIGTERM 143; other errors
    propagate. From here on, the output of the process may go to a closed pipe or a full disk.
    """

    @functools.wraps(main)
    def wrapper(argv: Sequence[str]) -> int:
        keep_output_open()
        raise_on_interrupt()  # the command's imports are complete
        try:
            with raise_on_termination():
                return main(argv)
        except tuple(STATUSES) as error:
            if isinstance(error, EnvironmentFailedError) and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            say(f"error: {error}", is_error=True)
            return next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            say("error: more files are open than the system allows; raise its limit (ulimit -n).", is_error=True)
            return ExitStatus.BAD_INPUT
        except KeyboardInterrupt:
            say("interrupted", is_error=True)
            return ExitStatus.INTERRUPTED
        except StoppedError:
            say("terminated", is_error=True)
            raise

    return wrapper


def command(name: str, flags: type[Flags], run: Callable[[Flags], int | None]) -> Main:
    """Returns the `main` of a command, which parses flags, runs it, and turns expected errors into an exit status.

    The name is the module's, for the help; `run` returns the exit status, or None for 0. Commands that parse in
    several steps wrap their own function in `guarded` instead.
    """
    return guarded(lambda argv: run(parse(name, flags, argv)) or 0)
