"""Shared by all commands: flags from dataclasses, a `main` from flags, one-line errors."""

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import tyro

from acer_tf.errors import EnvironmentFailedError, InputError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

Flags = TypeVar("Flags")
Main = Callable[[Sequence[str]], int]
"""From the words after the command to its exit status."""


def parse(command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None = None) -> Flags:
    """Parses the command line into a dataclass; counts may be written as 1e6, names with underscores or hyphens.

    Args:
        command: module name, for the help.
        flags: the dataclass.
        argv: the words after the command.
        default: values of flags that are not given; None means the dataclass's defaults.

    Raises:
        SystemExit: status 0 after printing the help; status 2 for an unknown flag or a value of the wrong type, with
            the reason on standard error.
    """
    parsed: Flags = tyro.cli(flags, args=list(argv), **_tyro_settings(command, default))
    return parsed


def parse_known(
    command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None = None
) -> tuple[Flags, list[str]]:
    """Parses like `parse`, and also returns the words that belong to no flag."""
    return tyro.cli(flags, args=list(argv), return_unknown_args=True, **_tyro_settings(command, default))


def _tyro_settings(command: str, default: Any) -> dict[str, Any]:
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(_count_rule)
    registry.primitive_rule(_none_rule)
    return {
        "prog": f"python -m {command}",
        "registry": registry,
        "use_underscores": True,
        "config": (tyro.conf.OmitArgPrefixes,),
        **({} if default is None else {"default": default}),
    }


def guarded(main: Main) -> Main:
    """Wraps `main` so that expected errors become one line on standard error and an exit status.

    The status is 2 for an `InputError`, 1 for an `EnvironmentFailedError`, 130 for Ctrl-C. Other errors propagate.
    """

    @functools.wraps(main)
    def wrapper(argv: Sequence[str]) -> int:
        try:
            return main(argv)
        except (InputError, EnvironmentFailedError) as error:
            print(f"error: {error}", file=sys.stderr)
            return BAD_INPUT if isinstance(error, InputError) else FAILED
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED

    return wrapper


def command(name: str, flags: type[Flags], run: Callable[[Flags], int | None]) -> Main:
    """Returns the `main` of a command: parses its flags, runs it, and turns expected errors into an exit status.

    Commands that parse in several steps wrap their own function in `guarded` instead.

    Args:
        name: module name, for the help.
        flags: dataclass of the flags.
        run: called with the parsed flags; returns the exit status, None for 0.
    """
    return guarded(lambda argv: run(parse(name, flags, argv)) or 0)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Guards the writing of a file.

    Raises:
        InputError: an `OSError` was raised inside.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another file.") from error


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Writes values as indented JSON.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _count(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value.is_integer() and value >= 0):
        raise ValueError(f"expected a whole number >= 0, such as 16 or 1e6, got '{text}'.")
    return int(text) if text.isdecimal() else int(value)


def _count_rule(info: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[int] | None:
    if info.type is not int:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: _count(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


def _none(text: str) -> None:
    if text.lower() not in ("none", "null"):
        raise ValueError(f"expected None, got '{text}'.")


def _none_rule(info: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[None] | None:
    if info.type is not type(None):
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="{None}",
        instance_from_str=lambda words: _none(words[0]),
        is_instance=lambda value: value is None,
        str_from_instance=lambda value: ["None"],
    )
