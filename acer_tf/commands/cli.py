"""What all commands share: flags from dataclasses, and one-line errors."""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import tyro

from acer_tf.errors import EnvironmentFailedError, InputError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

Flags = TypeVar("Flags")


def parse(command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None = None) -> Flags:
    """Reads flags into a dataclass; whole numbers may be written as 1e6, names with underscores or hyphens.

    Args:
        command: the module that is run, for the help.
        flags: the dataclass.
        argv: the words after the command.
        default: where flags are not given; None takes the dataclass's own.

    Raises:
        SystemExit: help was asked for (status 0), or a flag is unknown or its value is of the wrong kind (status 2);
            the reason is on standard error.
    """
    parsed: Flags = tyro.cli(flags, args=list(argv), **_tyro_settings(command, default))
    return parsed


def parse_known(
    command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None = None
) -> tuple[Flags, list[str]]:
    """Like `parse`, but hands back what it does not know."""
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


def guarded(main: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """Makes `main` answer with one line on standard error and a status.

    The status is 2 for bad input, 1 for environments that failed, 130 for an interrupt.
    """

    @functools.wraps(main)
    def wrapper(argv: Sequence[str]) -> int:
        try:
            return main(argv)
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            return BAD_INPUT
        except EnvironmentFailedError as error:
            print(f"error: {error}", file=sys.stderr)
            return FAILED
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED

    return wrapper


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
