"""Flags described by dataclasses: parses command lines into values, and prints the help."""

import contextlib
import dataclasses
import functools
import inspect
import itertools
import operator
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
    convert,
)

from acer_tf.cli.env_kwargs import env_kwargs
from acer_tf.cli.flag_names import ALIASES, flag_name, instead_of, stray
from acer_tf.errors import InputError
from acer_tf.storage.paths import user_path
from acer_tf.system.command_line import program

Flags = TypeVar("Flags")
Value = TypeVar("Value")
Values = Mapping[str, Any]

POSITIONAL = "positional"
Positional = Annotated[Value, POSITIONAL]
"""Annotation of fields that are arguments, not flags."""
HELP = ("--help", "-h")
LITERALS = ("true", "false", "none", "null")
"""Words that count as the value of a True or False flag, if they follow it."""
EXPECTED = {
    int: "a whole number >= 0, such as 16 or 1e6",
    float: "a number",
    bool: "True or False",
    str: "text",
    Path: "a path",
    types.NoneType: "None",
}
"""Types of values, and their names in error messages."""
REST = "rest"


class INT(int):
    """The type with which cyclopts reads whole numbers >= 0, such as 16 or 1e6; the help shows its name."""

    def __new__(cls, text: str) -> int:  # type: ignore[misc]
        """Returns the number; raises ValueError for any other word."""
        value = float(text)
        if not (value.is_integer() and value >= 0):
            raise ValueError
        return int(text) if text.isdecimal() else int(value)


class PATH:
    """The type with which cyclopts reads paths; the help shows its name."""

    def __new__(cls, text: str) -> Path:  # type: ignore[misc]
        """Returns the path."""
        return user_path(text)


class OptionalValue(NamedTuple):
    """Annotation of a flag whose path may be left out, and is then empty.

    Attributes:
        pattern: regular expression for a word after the flag that is the path.
    """

    pattern: str


class Flag(NamedTuple):
    """A field of a dataclass that the command line sets.

    Attributes:
        field: the field.
        hint: type of the field.
        marks: annotations of the field, such as `POSITIONAL`.
        group: the class that declares it, which is a box in the help.
    """

    field: dataclasses.Field[Any]
    hint: Any
    marks: Sequence[Any]
    group: type[Any]

    @property
    def name(self) -> str:
        """Name on the command line, without hyphens."""
        return self.field.name

    @property
    def is_positional(self) -> bool:
        """Whether it is an argument."""
        return POSITIONAL in self.marks

    @property
    def box(self) -> str:
        """Title of its box in the help."""
        name = self.group.__name__.removesuffix("Settings").removesuffix("Flags")
        return "arguments" if self.is_positional else re.sub(r"\B[A-Z]", r" \g<0>", name).lower()


def flags_of(kind: type[Any]) -> Iterator[Flag]:
    """Yields the flags and arguments of a dataclass, those of base classes first."""
    hints, annotated = typing.get_type_hints(kind), typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        group = next(base for base in reversed(kind.__mro__) if field.name in vars(base).get("__annotations__", ()))
        yield Flag(field, hints[field.name], getattr(annotated[field.name], "__metadata__", ()), group)


def parse(command: str, flags: type[Flags], argv: Sequence[str]) -> Flags:
    """Parses the words after a command into a dataclass, whose docstring describes the command.

    Raises:
        InputError: a flag does not exist, has no value or one of the wrong type, or an argument is missing.
        SystemExit: status 0 after printing the help.
    """
    return flags(**Parser(command, inspect.getdoc(flags) or "", [flags]).read(argv)[0])


class Parser:
    """Parser for the words of a command.

    Whole numbers may be written as 1e6, and names with underscores or hyphens. A True or False flag x is written --x,
    --no_x, --x=False or --x False. If a flag is given twice, the last value counts.
    """

    def __init__(
        self, command: str, description: str, groups: Sequence[type[Any]], *, takes_others: bool = False
    ) -> None:
        """Creates the parser.

        Args:
            command: module name, for the help.
            description: text above the flags in the help.
            groups: dataclasses of the flags.
            takes_others: whether to return words that belong to no flag instead of refusing them.
        """
        self._command = command
        self._description = "\n\n".join(" ".join(text.split()) for text in description.split("\n\n"))
        self._groups = groups
        self._flags = [flag for kind in groups for flag in flags_of(kind)]
        self._takes_others = takes_others

    @property
    def names(self) -> list[str]:
        """Names of the flags, without those of arguments."""
        return [flag.name for flag in self._flags if not flag.is_positional]

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults of the dataclasses' fields, by name."""
        return {flag.name: flag.field.default for flag in self._flags}

    def read(
        self, argv: Sequence[str], defaults: Callable[[Values], Values] | None = None
    ) -> tuple[dict[str, Any], list[str]]:
        """Returns the values of given fields, and the words that belong to no flag.

        Args:
            argv: the words after the command.
            defaults: returns, for given values, values that replace the defaults of fields in the help.

        Raises:
            InputError: a flag does not exist, has no value or one of the wrong type, or an argument is missing.
            SystemExit: status 0 after printing the help.
        """
        if not {*HELP}.isdisjoint(argv):
            given: Values = {}
            with contextlib.suppress(InputError):
                given = {} if defaults is None else self.read([word for word in argv if word not in HELP])[0]
            self._app(self._flags, self._docs(), {} if defaults is None else defaults(given)).help_print()
            raise SystemExit(0)
        try:
            words = self._joined(argv)
            app = self._app(self._mentioned(words), {}, {})
            _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            raise InputError(self._sentence(error, argv)) from None
        values = dict(bound.arguments)
        return values, list(values.pop(REST, ()))

    def _joined(self, words: Sequence[str]) -> list[str]:
        """Joins flags whose value is optional with the next word, if it is their value."""
        patterns = {f.name: mark.pattern for f in self._flags for mark in f.marks if isinstance(mark, OptionalValue)}
        joined, rest = [], list(words)
        while rest:
            word = rest.pop(0)
            name = flag_name(word) if word.startswith("--") else ""
            if name in ALIASES.values():
                word = f"--{name}" + "".join(word.partition("=")[1:])
            if "=" not in word and name in (*self._switches, *patterns):
                following = rest[0] if rest else ""
                if following.lower() in LITERALS or (name in patterns and re.fullmatch(patterns[name], following)):
                    word += f"={rest.pop(0)}"
                elif name in patterns:
                    word += "="
                elif following and not following.startswith("-") and not self._arguments:
                    raise InputError(_not_a_switch(name, following))
            joined.append(word)
        return joined

    @property
    def _arguments(self) -> Sequence[Flag]:
        return [flag for flag in self._flags if flag.is_positional]

    @property
    def _switches(self) -> Collection[str]:
        """Names of True or False flags."""
        return {flag.name for flag in self._flags if flag.hint in (bool, bool | None)}

    def _mentioned(self, words: Sequence[str]) -> list[Flag]:
        """Returns the arguments, and flags that may be among the words, as cyclopts takes longer with more flags."""
        names = {flag_name(word) for word in words}
        names |= {name.removeprefix("no_") for name in names}
        return [flag for flag in self._flags if flag.is_positional or flag.name in names]

    def _app(self, flags: Sequence[Flag], docs: Mapping[str, str], defaults: Values) -> App:
        """Returns cyclopts' parser for a function with flags as arguments."""
        groups: dict[str, Group] = {}
        parameters = []
        for flag in flags:
            group = groups.setdefault(flag.box, Group(flag.box, help=self._about(flag), sort_key=len(groups)))
            default = defaults.get(flag.name, flag.field.default)
            parameters.append(_parameter(flag, default, group, docs.get(flag.name, "")))
        if self._takes_others:
            others = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
            parameters.append(inspect.Parameter(REST, inspect.Parameter.VAR_POSITIONAL, annotation=others))

        def command(*args: Any, **kwargs: Any) -> None: ...

        command.__signature__ = inspect.Signature(sorted(parameters, key=lambda parameter: parameter.kind))  # type: ignore[attr-defined]
        app = App(
            name=program(self._command),
            help=self._description,
            usage=f"Usage: {self._usage()}\n",
            help_flags=(),
            version_flags=(),
            help_format="plaintext",
            default_parameter=Parameter(
                name_transform=lambda name: name,
                negative_bool="no_",
                negative_iterable=(),
                consume_multiple=True,
                allow_repeating=True,
                show_env_var=False,
            ),
        )
        app.default(command)
        return app

    def _usage(self) -> str:
        """Returns the command with its arguments, which come first, as a flag of several words would take them."""
        names = [
            flag.name.upper() if flag.field.default is dataclasses.MISSING else f"[{flag.name.upper()}]"
            for flag in self._arguments
        ]
        return " ".join([program(self._command), *names, *["[OPTIONS]"] * bool(self.names)])

    def _about(self, flag: Flag) -> str:
        """Returns the beginning of the docstring of a flag's box; the command's own is shown above all boxes."""
        text = " ".join((inspect.getdoc(flag.group) or "").split("\n\n")[0].split())
        return "" if flag.is_positional or self._description.startswith(text) else text

    def _docs(self) -> dict[str, str]:
        """Returns the docstring of each field."""
        from docstring_parser import parse_from_object  # only help and messages need it

        fields = (field for kind in {flag.group for flag in self._flags} for field in parse_from_object(kind).params)
        return {field.arg_name: " ".join((field.description or "").split()) for field in fields}

    def _sentence(self, error: CycloptsError, words: Sequence[str]) -> str:
        """Describes an error in one sentence, in terms of the command line."""
        if isinstance(error, UnknownOptionError):
            word = error.token.keyword or error.token.value
            if not word.startswith("--"):
                return stray(word, self.names)
            return f"--{flag_name(word)} is not a flag; {instead_of(flag_name(word), self.names)}."
        if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
            return self._unused(error.unused_tokens[0], words)
        if error.argument is None:
            return " ".join(str(error).split())
        (flag,) = (flag for flag in self._flags if flag.name == error.argument.field_info.name)
        if isinstance(error, MissingArgumentError) and flag.is_positional:
            given = [f.name for f in self._mentioned(words) if not f.is_positional and _takes_several(f.hint)]
            if given:
                return (
                    f"{error.argument.name} is missing; write it before --{given[0]}, which takes all words after it."
                )
            return f"{error.argument.name} is missing: {self._docs()[flag.name]}"
        if isinstance(error, MissingArgumentError):
            return f"--{flag.name} has no value."
        if isinstance(error.__cause__, InputError):
            return str(error.__cause__)
        if isinstance(error, CoercionError) and error.token is not None:
            return f"--{flag.name}: expected {_expected(flag.hint)}, got '{error.token.value}'."
        return " ".join(str(error).split())

    def _unused(self, word: str, words: Sequence[str]) -> str:
        """Returns a message that a word is neither an argument nor the value of a flag."""
        pairs = itertools.pairwise(words)
        before = next((flag_name(flag) for flag, other in pairs if other == word and flag.startswith("--")), "")
        if before in self._switches:
            return _not_a_switch(before, word)
        if before in self.names:
            return f"unexpected word '{word}'; if it is meant for --{before}, write --{before}={word}."
        if self._arguments:
            return f"'{word}' is one word too many; expected {self._usage()}."
        return stray(word, self.names)


def _parameter(flag: Flag, default: Any, group: Group, doc: str) -> inspect.Parameter:
    parameter = Parameter(
        name=None if flag.is_positional else f"--{flag.name}",
        group=group,
        help=doc,
        show_default=_shown if default != () else False,
    )
    return inspect.Parameter(
        flag.name,
        inspect.Parameter.POSITIONAL_ONLY if flag.is_positional else inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is dataclasses.MISSING else default,
        annotation=Annotated[_readable(flag.hint), parameter],
    )


def _kinds(hint: Any) -> Sequence[Any]:
    """Returns the alternatives in a type that words can represent."""
    parts = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
    return [part for part in parts if part in EXPECTED or typing.get_origin(part) in (Literal, tuple, Mapping)] or [str]


def _takes_several(hint: Any) -> bool:
    """Returns whether flags of this type take several words."""
    return any(typing.get_origin(kind) in (tuple, Mapping) for kind in _kinds(hint))


def _readable(hint: Any) -> Any:
    """Returns a type in the form for cyclopts: with counts for whole numbers, and words `name:value` for mappings."""
    if hint in (int, Path):
        return INT if hint is int else PATH
    if typing.get_origin(hint) is tuple:
        several: Any = tuple[_readable(typing.get_args(hint)[0]), ...]  # type: ignore[misc]
        read = Parameter(converter=lambda _, tokens: convert(several, _last(tokens)), n_tokens=-1)
        return Annotated[several, read]
    if any(typing.get_origin(kind) is Mapping for kind in _kinds(hint)):
        read = Parameter(
            converter=lambda _, tokens: env_kwargs([token.value for token in _last(tokens)]) or None,
            n_tokens=-1,
            accepts_keys=False,
        )
        return Annotated[hint, read]
    kinds = sorted(_kinds(hint), key=lambda kind: kind is not types.NoneType)  # None before text and paths
    return functools.reduce(operator.or_, map(_readable, kinds)) if len(kinds) > 1 else kinds[0]


def _last(tokens: Sequence[Token]) -> Sequence[Token]:
    """Returns the words after the last of several flags with the same name; for arguments, all words."""
    begins = [n for n, token in enumerate(tokens) if token.keyword is not None and token.index == 0]
    return tokens[begins[-1] :] if begins else tokens


def _expected(hint: Any) -> str:
    """Describes the values that a flag accepts, for messages."""
    kinds = [typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind for kind in _kinds(hint)]
    choices = [str(choice) for kind in kinds if typing.get_origin(kind) is Literal for choice in typing.get_args(kind)]
    words = f"one of {', '.join(choices)}" if len(choices) > 1 else "".join(choices)
    parts = [words] * bool(choices) + [EXPECTED[kind] for kind in kinds if kind in EXPECTED]
    return " or ".join(sorted(parts, key=lambda part: part != "None"))


def _not_a_switch(name: str, word: str) -> str:
    return f"--{name}: expected {EXPECTED[bool]}, got '{word}'."


def _shown(default: Any) -> str:
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)
