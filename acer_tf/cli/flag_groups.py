"""Groups of flags: dataclasses with a title, which the dataclass of a command inherits; each is a box in the help."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import tyro

Flags = TypeVar("Flags")

TITLE = "title"
"""Class variable that makes a dataclass a group; the title of its box."""


def groups_of(flags: type[Any]) -> Iterator[type[Any]]:
    """Yields the groups that the dataclass of a command inherits, in the order of its fields."""
    for base in reversed(flags.__bases__):
        if TITLE in vars(base):
            yield base
        else:
            yield from groups_of(base)


def nested(flags: Any) -> Any:
    """Returns the values of flags in a dataclass with one field per group, of which tyro makes a box each."""
    fields = []
    for group in groups_of(type(flags)):
        values = group(**{field.name: getattr(flags, field.name) for field in dataclasses.fields(group)})
        kind: Any = Annotated[group, tyro.conf.arg(name=getattr(group, TITLE))]
        fields.append((group.__name__, kind, dataclasses.field(default=values)))
    return dataclasses.make_dataclass(type(flags).__name__, fields, frozen=True)()


def flat(flags: type[Flags], groups: Any) -> Flags:
    """Returns a command's dataclass with the values of a `nested` one."""
    return flags(**{name: value for group in vars(groups).values() for name, value in vars(group).items()})
