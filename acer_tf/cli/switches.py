"""Switches: flags that are True or False, in every way of writing them."""

import dataclasses
import types
import typing
from collections.abc import Collection, Sequence
from typing import Any

from acer_tf.errors import InputError

VALUES = {"true": "True", "false": "False", "none": "None"}


def switches(flags: type[Any]) -> set[str]:
    """Returns the names of a dataclass's fields that are True or False, or None besides."""
    hints = typing.get_type_hints(flags)
    return {field.name for field in dataclasses.fields(flags) if hints[field.name] in (bool, bool | types.NoneType)}


def spelled_out(words: Sequence[str], names: Collection[str], is_alone: bool) -> list[str]:
    """Returns the words with every switch as --name=True or --name=False, in one word.

    Of a switch `x` these are accepted: --x, --no_x, --x=False, --x False, with hyphens for underscores, too.

    Args:
        words: the words after the command.
        names: names of the switches.
        is_alone: whether the command has no positional arguments, so that any word after a switch is its value.

    Raises:
        InputError: a switch has a value that is neither True nor False.
    """
    spelled, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        positive = name.removeprefix("no_")
        if not flag.startswith("--") or positive not in names:
            spelled.append(word)
        elif name != positive:
            if equals:
                raise InputError(f"{word}: --{name} takes no value; expected --{positive}=True or --{positive}=False.")
            spelled.append(f"--{positive}=False")
        else:
            if not equals and rest and (rest[0].lower() in VALUES or (is_alone and not rest[0].startswith("-"))):
                equals, value = "=", rest.pop(0)
            spelled.append(f"--{name}={_checked(name, value) if equals else True}")
    return spelled


def _checked(name: str, value: str) -> str:
    if value.lower() not in VALUES:
        raise InputError(f"--{name} is '{value}'; expected True or False.")
    return VALUES[value.lower()]
