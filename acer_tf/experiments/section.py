"""Reads a mapping of a YAML file key by key, with checks and clear errors."""

from collections.abc import Sequence
from typing import Any

from acer_tf.errors import InputError, nearest


class Section:
    """A mapping in a file; every method reads one key, and what no method has read is a mistake.

    All methods raise `InputError` if a value is missing, unless it has a default, or of the wrong kind.

    Attributes:
        where: where in which file, the beginning of error messages.
        values: the mapping.
    """

    def __init__(self, where: str, values: Any) -> None:
        """Begins to read.

        Args:
            where: where in which file.
            values: the mapping; anything else raises an `InputError`.
        """
        if not isinstance(values, dict):
            raise InputError(f"{where} is {values!r}; expected settings by name.")
        self.where = where
        self.values = values
        self._read: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str | None = None) -> str:
        """Returns text, without space around it."""
        value = self._value(key, default)
        return str(value).strip() if isinstance(value, str) else self._reject(key, value, "text")

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """Returns one of several words."""
        value = self.text(key, default)
        if value not in choices:
            raise InputError(f"{self.where}: {key} '{value}' does not exist; expected one of {', '.join(choices)}.")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Returns a number >= 0, which may be written as 3e5."""
        value = as_number(self._value(key, default))
        return value if value is not None and value >= 0 else self._reject(key, value, "a number >= 0")

    def count(self, key: str, default: int | None = None, least: int = 1) -> int:
        """Returns a whole number."""
        value = as_number(self._value(key, default))
        if value is None or not value.is_integer() or value < least:
            self._reject(key, self.values.get(key), f"a whole number >= {least}")
        return int(value or 0)

    def counts(self, key: str) -> tuple[int, ...]:
        """Returns several whole numbers >= 0; none without the key."""
        found = self.items(key, [])
        if not all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in found):
            self._reject(key, found, "whole numbers >= 0, such as [0, 1]")
        return tuple(found)

    def switch(self, key: str, default: bool = False) -> bool:
        """Returns whether it is true."""
        value = self._value(key, default)
        return value if isinstance(value, bool) else self._reject(key, value, "true or false")

    def mapping(self, key: str, default: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns values by name."""
        value = self._value(key, default)
        if not isinstance(value, dict):
            self._reject(key, value, "values by name")
        return {str(name): entry for name, entry in value.items()}

    def numbers(self, key: str, default: dict[str, float] | None = None) -> dict[str, float]:
        """Returns numbers by name."""
        found = {name: as_number(value) for name, value in self.mapping(key, default).items()}
        for name, value in found.items():
            if value is None:
                self._reject(f"{key} of {name}", self.values[key][name], "a number")
        return {name: value for name, value in found.items() if value is not None}

    def items(self, key: str, default: list[Any] | None = None) -> list[Any]:
        """Returns a list."""
        value = self._value(key, default)
        return value if isinstance(value, list) else self._reject(key, value, "a list")

    def window(self, key: str, default: tuple[float, float]) -> tuple[float, float]:
        """Returns beginning and end of a part of a run, as fractions of it."""
        found = self.items(key, [*default])
        begin, end = (as_number(found[0]), as_number(found[1])) if len(found) == 2 else (None, None)
        if begin is None or end is None or not 0 <= begin < end <= 1:
            self._reject(key, found, "two fractions of a run, such as [0.9, 1]")
        return begin or 0.0, end or 0.0

    def finish(self) -> None:
        """Checks that every key has been read.

        Raises:
            InputError: one has not; the message has the nearest that are known.
        """
        for key in self.values:
            if key not in self._read:
                known = ", ".join(nearest(str(key), self._read))
                raise InputError(f"{self.where}: {key} is not a setting; the nearest are {known}.")

    def _value(self, key: str, default: Any) -> Any:
        self._read.append(key)
        value = self.values.get(key, default)
        if value is None:
            raise InputError(f"{self.where}: {key} is missing.")
        return value

    def _reject(self, key: str, value: object, expected: str) -> Any:
        raise InputError(f"{self.where}: {key} is {value!r}; expected {expected}.")


def as_number(value: object) -> float | None:
    """Returns a value as a number; YAML takes 3e5 for text. None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None
