"""Arguments of environments in the files of runs, presets, experiments and searches."""

import re
from collections.abc import Mapping
from typing import Any

from acer_tf.errors import InputError

WORD = re.compile(r"[\w -]{0,64}")


def check_saved_kwargs(kwargs: Mapping[str, Any]) -> None:
    """Checks arguments of an environment in a file: they must not name files or code, or open windows.

    Raises:
        InputError: one is `render_mode`, or anything but numbers, booleans, None, short text of letters, digits,
            spaces, `-` and `_`, and lists and mappings of these.
    """
    for name, value in kwargs.items():
        if name == "render_mode" or not _is_harmless(value):
            raise InputError(
                f"the file has {name}={str(value)[:80]!r} among the arguments of the environment; a file may "
                "give only numbers, true, false and short words: pass the arguments with --env_kwargs."
            )


def _is_harmless(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_harmless, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_is_harmless, value))
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and bool(WORD.fullmatch(value)))
