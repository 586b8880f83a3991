"""Flags of the network: whatever the command itself does not know."""

import ast
import dataclasses
import difflib
import json
from collections.abc import Sequence
from typing import Any

from acer_tf.errors import InputError


def flag_names(flags: type[Any]) -> list[str]:
    """Returns the names of a training command's own flags."""
    return ["num_timesteps", *(field.name for field in dataclasses.fields(flags))]


def network_arguments(words: Sequence[str], own: Sequence[str]) -> dict[str, Any]:
    """Reads what the command's own flags left over: `--name=value` or `--name value`.

    Args:
        words: what was left over. Values are Python literals (2, 0.5, True), or else text.
        own: names of the command's own flags, to find what was misspelt.

    Raises:
        InputError: a word belongs to no flag, a flag has no value, or it is a misspelt flag of the command.
    """
    arguments: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        _check_name(word, name, own)
        if not equals and not rest:
            raise InputError(f"{flag} has no value; expected {flag}=VALUE.")
        arguments[name] = _literal(value if equals else rest.pop(0))
    return arguments


def _check_name(word: str, name: str, own: Sequence[str]) -> None:
    if not word.startswith("--") or not name.isidentifier():
        raise InputError(f"'{word}' belongs to no flag; expected --name=value.")
    if close := difflib.get_close_matches(name, own, n=1, cutoff=0.8):
        shown = "num_timesteps" if close == ["total_timesteps"] else close[0]
        raise InputError(f"--{name} is not a flag; the nearest is --{shown}.")


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
        json.dumps(value)  # settings are kept with each checkpoint
    except (ValueError, SyntaxError, TypeError):
        return text
    return value
