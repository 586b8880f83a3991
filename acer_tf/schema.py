"""Types of settings with their ranges, and the error message for a value that does not fit."""

import dataclasses
import inspect
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
import numpy as np
from msgspec import Meta

from acer_tf.errors import InputError
from acer_tf.suggestions import FEW, from_elsewhere, suggestion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Made = TypeVar("Made")

LARGEST = float(np.finfo(np.float32).max)
"""Largest finite number with which networks can compute."""
LARGEST_COUNT = 2**63 - 1
"""Largest whole number that files can hold."""

Count = Annotated[int, Meta(ge=1, le=LARGEST_COUNT, description="a whole number >= 1")]
CountOrZero = Annotated[int, Meta(ge=0, le=LARGEST_COUNT, description="a whole number >= 0")]
SmallCount = Annotated[int, Meta(ge=1, le=1024, description="a whole number from 1 to 1024")]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST, description="a number")]
Weight = Annotated[float, Meta(ge=0, le=LARGEST, description="a finite number >= 0")]
Ratio = Annotated[float, Meta(ge=0, le=1e6, description="a number from 0 to 1,000,000")]
Positive = Annotated[float, Meta(gt=0, le=LARGEST, description="a finite number > 0")]
PositiveOrInfinite = Annotated[float, Meta(gt=0, description="a number > 0")]
Fraction = Annotated[float, Meta(ge=0, le=1, description="a number between 0 and 1")]
Seed = Annotated[int, Meta(ge=0, lt=2**32, description=f"a whole number from 0 to {2**32 - 1}")]
Text = Annotated[str, Meta(description="text")]


def validated(name: str, value: object, kind: Any) -> Any:
    """Returns a value in its type: NumPy's numbers become Python's, and 1e6 is a whole number where one is expected.

    Args:
        name: name of the setting, for the message.
        value: the value given.
        kind: a type of settings: one of this module's, bool, a Literal, one of these or None, or a Mapping from text to
            one of them.

    Raises:
        InputError: the value is of another type, or out of range.
    """
    given = to_python(value)
    if get_origin(kind) is Mapping and isinstance(given, dict):
        return {str(key): validated(f"{name} of {key}", item, get_args(kind)[1]) for key, item in given.items()}
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    try:
        return msgspec.convert(given, kind, dec_hook=lambda kind, given: kind(given))
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for invalid text, such as a lone surrogate
        expected = str(_expected(kind))
        if isinstance(given, int) and given > LARGEST_COUNT:
            expected = re.sub(r"whole number >= (\d)", r"whole number from \1 to 2**63 - 1", expected)
        if get_origin(kind) is Literal and len(get_args(kind)) > FEW:
            choices = suggestion(str(value)[:80], get_args(kind))
            raise InputError(f"{name} is {value!r:.200}, which does not exist{choices}.") from None
        raise InputError(f"{name} is {value!r:.200}; expected {expected}.") from None


def validate_fields(settings: "DataclassInstance", names: Mapping[str, str] = {}) -> None:
    """Validates those fields of a frozen dataclass that are annotated with types of settings, while it is made.

    Args:
        settings: the dataclass.
        names: what messages call fields that the user knows under other names.

    Raises:
        InputError: a value is of another type than its field, or out of range.
    """
    for field in dataclasses.fields(settings):
        if is_setting(field.type):
            value = validated(names.get(field.name, field.name), getattr(settings, field.name), field.type)
            object.__setattr__(settings, field.name, value)


@dataclasses.dataclass(frozen=True)
class Validated:
    """Base class of settings whose fields are validated on creation."""

    def __post_init__(self) -> None:
        """Checks each field.

        Raises:
            InputError: a value is of another type than its field, or out of range.
        """
        validate_fields(self)


def read(where: str, values: object, make: Callable[..., Made], common: Mapping[str, Any] = {}, **known: Any) -> Made:
    """Makes an object from a mapping in a file; space around text is stripped.

    Args:
        where: the place in the file, with which messages begin.
        values: the mapping; None counts as empty.
        make: a dataclass or a NamedTuple, annotated with types of settings.
        common: values for names that the mapping lacks.
        known: arguments that do not come from the file.

    Raises:
        InputError: a name is unknown or missing, or a value does not fit.
    """
    if not isinstance(values, dict | None):
        raise InputError(f"{where} is {values!r:.200}; expected settings by name.")
    given = {**common, **(values or {})}
    fields = {name: field for name, field in inspect.signature(make).parameters.items() if name not in known}
    check_names(where, given, fields)
    for name, field in fields.items():
        if field.default is field.empty and given.get(name) is None:
            raise InputError(f"{where}: {name} is missing.")
    found = {name: validated(f"{where}: {name}", value, fields[name].annotation) for name, value in given.items()}
    text = {name: value.strip() for name, value in found.items() if isinstance(value, str)}
    return make(**known, **found | text)


def check_names(where: str, names: Iterable[object], known: Collection[str]) -> None:
    """Checks that every name in a file is the name of a setting.

    Raises:
        InputError: a name is not; the message suggests the nearest that are.
    """
    for name in names:
        if name not in known:
            same = from_elsewhere(str(name), known)
            choices = f"; the nearest here is {same[0]}" if same else suggestion(str(name), known)
            raise InputError(f"{where}: {name} is not a setting{choices}.")


def to_python(value: Any) -> Any:
    """Returns a value with NumPy's and other real numbers replaced by Python's, also in mappings and lists."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, numbers.Real) and not isinstance(value, int):
        return float(value)  # even subclasses of float, which msgspec would refuse
    if isinstance(value, dict):
        return {key: to_python(item) for key, item in value.items()}
    return type(value)(map(to_python, value)) if type(value) in (list, tuple) else value


def is_setting(kind: Any) -> bool:
    """Returns whether values of a type can be validated."""
    return _expected(kind) is not None


def _expected(kind: Any) -> str | None:
    """Returns a type of settings in words; None for any other type."""
    if kind is bool:
        return "True or False"
    if get_origin(kind) is Mapping:
        return "values by name"
    members = get_args(kind)
    if get_origin(kind) is Literal:
        *others, last = map(str, members)
        return f"{', '.join(others)} or {last}" if others else last
    if type(None) in members and (other := _expected(members[0])) is not None:
        return f"{other}, or None"
    return next((mark.description for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, Meta)), None)
