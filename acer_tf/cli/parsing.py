"""Shared by all commands: flags from dataclasses, a `main` from flags, one-line errors."""

import contextlib
import functools
import inspect
import json
import sys
import traceback
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import tyro

from acer_tf.cli.flag_groups import flat, groups_of, nested
from acer_tf.cli.mistakes import check_flags, flag_names, one_sentence
from acer_tf.cli.switches import spelled_out, switches
from acer_tf.errors import EnvironmentFailedError, ExitStatus, InputError, LockedError, SupersededError
from acer_tf.system.command_line import SCRIPT
from acer_tf.system.console import keep_output_open

STATUSES = {
    SupersededError: ExitStatus.SUPERSEDED,
    LockedError: ExitStatus.LOCKED,
    InputError: ExitStatus.BAD_INPUT,
    EnvironmentFailedError: ExitStatus.FAILED,
}
"""Exit status after an error of each kind; a kind comes before those that include it."""
UNLIMITED = 10_000
"""Columns of what is no terminal."""

SWITCHES = "\n\nA flag that is True|False needs no value: --name is True, --no_name is False."

Flags = TypeVar("Flags")
Main = Callable[[Sequence[str]], int]
"""From the words after the command to its exit status."""


def parse(command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None = None) -> Flags:
    """Parses the command line into a dataclass.

    Counts may be written as 1e6, names with underscores or hyphens, switches in the ways of `spelled_out`. Groups that
    the dataclass inherits (see `flag_groups`) are boxes in the help.

    Args:
        command: module name, for the help.
        flags: the dataclass.
        argv: the words after the command.
        default: values of flags that are not given; None means the dataclass's defaults.

    Raises:
        InputError: a flag does not exist, has no value or one of the wrong type, or an argument is missing.
        SystemExit: status 0 after printing the help.
    """
    return _parsed(command, flags, argv, default, return_unknown_args=False)[0]


def parse_known(
    command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None = None
) -> tuple[Flags, list[str]]:
    """Parses like `parse`, and also returns the words that belong to no flag."""
    return _parsed(command, flags, argv, default, return_unknown_args=True)


def _parsed(
    command: str, flags: type[Flags], argv: Sequence[str], default: Flags | None, return_unknown_args: bool
) -> tuple[Flags, list[str]]:
    switched, hints = switches(flags), typing.get_type_hints(flags, include_extras=True).values()
    is_alone = not any(tyro.conf.Positional in typing.get_args(hint) for hint in hints)
    words = spelled_out(argv, switched, is_alone)
    if not return_unknown_args:
        check_flags(words, flag_names(flags))
    settings: dict[str, Any] = {
        "args": words,
        "prog": program(command),
        "description": (inspect.getdoc(flags) or "") + (SWITCHES if switched else ""),
        "registry": _registry(),
        "use_underscores": True,
        "config": (tyro.conf.OmitArgPrefixes, tyro.conf.FlagConversionOff),
    }
    is_grouped = any(groups_of(flags))
    if is_grouped:
        default = nested(default or flags())
    if default is not None:
        settings["default"] = default
    target = type(default) if is_grouped else flags
    with one_sentence():
        if return_unknown_args:
            parsed, rest = tyro.cli(target, return_unknown_args=True, **settings)
        else:
            parsed, rest = tyro.cli(target, **settings), []
    return (flat(flags, parsed) if is_grouped else parsed), rest


def program(command: str) -> str:
    """Returns how this process was started: `acer evaluate`, `python -m acer_tf evaluate` or the module's own command.

    Args:
        command: name of the module.
    """
    started, name = Path(sys.argv[0]), command.removeprefix("acer_tf.").replace("_", "-")
    if started.stem == SCRIPT:
        return f"{SCRIPT} {name}"
    if started.parts[-2:] == ("acer_tf", "__main__.py"):
        return f"python -m acer_tf {name}"
    return f"python -m {command}"


def guarded(main: Main) -> Main:
    """Wraps `main` so that expected errors become one line on standard error and an exit status, that of `STATUSES`.

    The line comes after an environment's own traceback, if there is one. Ctrl-C gives status 130; other errors
    propagate. From here on the output of the process may go to a closed pipe or a full disk.
    """

    @functools.wraps(main)
    def wrapper(argv: Sequence[str]) -> int:
        keep_output_open()
        try:
            return main(argv)
        except tuple(STATUSES) as error:
            if isinstance(error, EnvironmentFailedError) and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            print(f"error: {error}", file=sys.stderr)
            return next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return ExitStatus.INTERRUPTED

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


def one_of(*choices: str) -> tyro.constructors.PrimitiveConstructorSpec[str]:
    """Returns the annotation of a flag whose value is one of a few words, for the help; the command checks it."""
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="|".join(choices),
        instance_from_str=lambda words: words[0],
        is_instance=lambda value: isinstance(value, str),
        str_from_instance=lambda value: [value],
    )


def _registry() -> tyro.constructors.ConstructorRegistry:
    registry = tyro.constructors.ConstructorRegistry()
    for rule in (_count_rule, _none_rule, _switch_rule):
        registry.primitive_rule(rule)
    return registry


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows of text under headers: in a terminal wrapped to its width, otherwise a line for each."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    table = Table(*(Column(header, overflow="fold") for header in headers), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console(width=None if sys.stdout.isatty() else UNLIMITED, highlight=False)
    with console.capture() as text:
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().splitlines()))


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
        metavar="None",
        instance_from_str=lambda words: _none(words[0]),
        is_instance=lambda value: value is None,
        str_from_instance=lambda value: ["None"],
    )


def _switch_rule(info: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[bool] | None:
    if info.type is not bool:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="True|False",
        instance_from_str=lambda words: words[0] == "True",
        is_instance=lambda value: isinstance(value, bool),
        str_from_instance=lambda value: [str(value)],
        choices=("True", "False"),
    )
