"""YAML of unknown origin: names and values, as data only and within limits."""

from typing import Any

import yaml

from acer_tf.errors import InputError

LARGEST = 2**20
"""Bytes of a text; parsing takes seconds for each megabyte."""


def parse_settings(source: str, text: bytes) -> dict[Any, Any]:
    """Parses a mapping.

    Args:
        source: where the text comes from, the beginning of error messages.
        text: YAML in UTF-8.

    Raises:
        InputError: it is not valid YAML, not a mapping, larger than `LARGEST` or nested too deeply.
    """
    if len(text) > LARGEST:
        raise InputError(f"{source} has more than {LARGEST / 2**20:.0f} MiB; expected a few lines of settings.")
    try:
        settings = yaml.safe_load(text)
    except RecursionError as error:
        raise InputError(f"{source} is nested too deeply; expected names and values.") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that there is not
        raise InputError(f"{source} is not valid YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(settings, dict):
        raise InputError(f"{source} holds a {type(settings).__name__}; expected settings by name.")
    return settings


def plain_number(value: Any) -> Any:
    """Returns a value as it was meant: YAML takes 7e-4 and 1e6 for text, and the latter is a whole number here."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(number, float) and number.is_integer() else number
