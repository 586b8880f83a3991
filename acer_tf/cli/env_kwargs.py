"""The flag `--env_kwargs`: arguments of the environment, as words `name:value` or as one mapping in YAML."""

from collections.abc import Sequence
from typing import Any

from acer_tf.errors import InputError
from acer_tf.storage.yaml_text import parse_typed


def env_kwargs(words: Sequence[str]) -> dict[str, Any]:
    """Reads arguments of an environment.

    Args:
        words: `name:value` or `name=value`, with values in YAML (5.0, true, [1, 2], text), or one mapping in YAML or
            JSON, such as `{gravity: 5.0}`.

    Raises:
        InputError: a word is neither, or a value is not valid YAML.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        arguments: dict[str, Any] = _value(words[0])
    else:
        arguments = {name: _value(value) for name, value in map(_split, words)}
    if not all(isinstance(name, str) and name.isidentifier() for name in arguments):
        raise InputError(f"env_kwargs are {arguments}; expected names and values, such as gravity:5.0.")
    return arguments


def _split(word: str) -> tuple[str, str]:
    separator = min((s for s in ":=" if s in word), key=word.index, default=None)
    if separator is None:
        raise InputError(f"env_kwargs: '{word}' has no value; expected name:value, such as gravity:5.0.")
    name, _, value = word.partition(separator)
    return name, value


def _value(text: str) -> Any:
    return parse_typed(f"env_kwargs: '{text}'", text)
