"""YAML of unknown origin: names and values, as data only and within limits."""

import re
from pathlib import Path
from typing import Any

import yaml

from acer_tf.errors import InputError, type_in_words
from acer_tf.storage.durable import read_bounded
from acer_tf.storage.paths import user_path
from acer_tf.suggestions import suggestion

LARGEST = 2**20
"""Most bytes of a file."""
MOST_VALUES = 10_000
"""Most values in a text; an alias counts as all values that it stands for."""
LONGEST_NUMBER = 100
"""Most characters of a number."""
LARGEST_INT = 2**63

_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?$|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?$"
    r"|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)
_EXPONENT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")


class _Plain(yaml.SafeLoader):
    """Builds only numbers, text, lists and mappings, within limits; 1:10 and dates are text."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self._values = 0
        self._values_of: dict[str, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event, before = self.peek_event(), self._values  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        if not isinstance(event, yaml.AliasEvent):
            self._values += 1
            self._values_of[event.anchor] = self._values - before
        elif event.anchor in self._values_of:
            self._values += self._values_of[event.anchor]
        else:
            raise ValueError(f"the alias *{event.anchor} stands for something that contains it")
        if self._values > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values")
        if isinstance(node, yaml.ScalarNode):
            node.value.encode()  # fails for halves of surrogate pairs, which could not be written again
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        number: int = super().construct_yaml_int(_short(node))
        if abs(number) >= LARGEST_INT:
            raise ValueError(f"a whole number has {number.bit_length()} bits")
        return number

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        return float(super().construct_yaml_float(_short(node)))


def _short(node: yaml.ScalarNode) -> yaml.ScalarNode:
    if len(node.value) > LONGEST_NUMBER:
        raise ValueError(f"a number has {len(node.value)} characters")
    return node


_Plain.yaml_constructors = {
    tag: make
    for tag, make in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.removeprefix(_TAG) in ("null", "bool", "str", "seq", "map")
}
_Plain.add_constructor(f"{_TAG}int", _Plain.construct_yaml_int)
_Plain.add_constructor(f"{_TAG}float", _Plain.construct_yaml_float)
_Plain.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in known if tag.removeprefix(_TAG) not in ("int", "float", "timestamp")]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Plain.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
_Plain.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))


class _HandWritten(_Plain):
    """Also reads 7e-4 and 1e6 as numbers, which YAML 1.1 takes for text."""


_HandWritten.add_implicit_resolver(f"{_TAG}float", _EXPONENT, list("-+.0123456789"))


def settings_path(kind: str, name: str, folder: Path) -> Path:
    """Returns the file of settings with a name.

    Args:
        kind: kind of settings, for the message.
        name: name of a file in the folder, without .yml, or the path of any other file, ending in .yml or .yaml.
        folder: folder of the files that ship with this package.

    Raises:
        InputError: the folder has no such file; the message suggests similar names.
    """
    if name.endswith((".yml", ".yaml")):
        return user_path(name)
    names = settings_names(folder)
    if name not in names:
        choices = suggestion(name, names, "expected a name, or a file that ends in .yml")
        raise InputError(f"{kind} '{name}' does not exist{choices}.")
    return folder / f"{name}.yml"


def settings_names(folder: Path) -> list[str]:
    """Returns the names of the files of settings in a folder."""
    return sorted(path.stem for path in folder.glob("*.yml"))


def load_settings(source: str, path: Path) -> dict[Any, Any]:
    """Reads a hand-written file of settings.

    Args:
        source: description of the file, which begins error messages.
        path: path of the file.

    Raises:
        InputError: it cannot be read, or as for `parse_settings`.
    """
    return parse_settings(source, read_bounded(path, LARGEST), _HandWritten)


def parse_settings(source: str, text: bytes, loader: type[_Plain] = _Plain) -> dict[Any, Any]:
    """Parses a mapping.

    Args:
        source: where the text comes from, which begins error messages.
        text: YAML in UTF-8.
        loader: class that reads the YAML.

    Raises:
        InputError: it is not valid YAML, not a mapping, nested too deeply, or beyond a limit of this module.
    """
    settings = _parsed(source, text, loader)
    if settings is None:
        raise InputError(f"{source} is empty; expected settings by name.")
    if not isinstance(settings, dict):
        raise InputError(f"{source} holds {type_in_words(settings)}; expected settings by name.")
    return settings


def parse_typed(source: str, text: str) -> Any:
    """Parses a typed value as `load_settings` does in files; Python's None also counts as null.

    Raises:
        InputError: it is not valid YAML, nested too deeply, or beyond a limit of this module.
    """
    return None if text == "None" else _parsed(source, text.encode(errors="surrogateescape"), _HandWritten)


def _parsed(source: str, text: bytes, loader: type[_Plain]) -> Any:
    try:
        return loader(text).get_single_data()
    except RecursionError as error:
        raise InputError(f"{source} is nested too deeply; expected names and values.") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a malformed number, or a limit
        raise InputError(f"{source} is not valid YAML: {' '.join(str(error).split())}.") from error
