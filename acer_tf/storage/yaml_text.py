"""YAML of unknown origin: names and values, as data only and within limits."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from acer_tf.errors import InputError, suggestion
from acer_tf.storage.paths import user_path

LARGEST = 2**20
"""Bytes of a text; parsing takes seconds for each megabyte."""
EXPONENT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")


NOT_IN_FILES = ("env", "preset", "seed", "logdir", "load_path", "restart_behavior", "force", "ray_address", "track")
"""Flags that no file sets: they name the run, files, machines or services."""


class _HandWritten(yaml.SafeLoader):
    """Reads 7e-4 and 1e6 as numbers, which YAML 1.1 takes for text; refuses aliases of lists and mappings.

    A few lines of such aliases stand for billions of values.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            anchor = self.peek_event().anchor  # type: ignore[no-untyped-call]
            if isinstance(self.anchors.get(anchor), yaml.CollectionNode):
                raise ValueError(f"the alias *{anchor} stands for more than one value")
        return super().compose_node(parent, index)


_HandWritten.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))


def settings_path(kind: str, name: str, folder: Path) -> Path:
    """Returns the file of settings that a name stands for.

    Args:
        kind: what the settings are, for the message.
        name: of a file in the folder, without .yml, or the path of any other file, ending in .yml or .yaml.
        folder: of the files that ship with this package.

    Raises:
        InputError: the folder has no such file; the message has the nearest.
    """
    if name.endswith((".yml", ".yaml")):
        return user_path(name)
    names = settings_names(folder)
    if name not in names:
        raise InputError(f"{kind} '{name}' does not exist{suggestion(name, names)}.")
    return folder / f"{name}.yml"


def settings_names(folder: Path) -> list[str]:
    """Returns the names of the files of settings in a folder."""
    return sorted(path.stem for path in folder.glob("*.yml"))


def load_settings(source: str, path: Path) -> dict[Any, Any]:
    """Reads a file of settings that somebody has written.

    Args:
        source: what the file is, the beginning of error messages.
        path: of the file.

    Raises:
        InputError: it cannot be read, or as of `parse_settings`; or an alias stands for a list or a mapping.
    """
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{source} cannot be read ({error.strerror}).") from error
    return parse_settings(source, text, _HandWritten)


def check_flags(where: str, names: Iterable[str]) -> None:
    """Checks that flags in a file are such as a file may set.

    Raises:
        InputError: one is not.
    """
    for name in names:
        if name.replace("-", "_") in NOT_IN_FILES:
            raise InputError(f"{where}: {name} is no setting of a file; give it on the command line.")


def parse_settings(source: str, text: bytes, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> dict[Any, Any]:
    """Parses a mapping.

    Args:
        source: where the text comes from, the beginning of error messages.
        text: YAML in UTF-8.
        loader: how YAML is read.

    Raises:
        InputError: it is not valid YAML, not a mapping, larger than `LARGEST` or nested too deeply.
    """
    if len(text) > LARGEST:
        raise InputError(f"{source} has more than {LARGEST / 2**20:.0f} MiB; expected a few lines of settings.")
    try:
        settings = loader(text).get_single_data()
    except RecursionError as error:
        raise InputError(f"{source} is nested too deeply; expected names and values.") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that there is not
        raise InputError(f"{source} is not valid YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(settings, dict):
        raise InputError(f"{source} holds a {type(settings).__name__}; expected settings by name.")
    return settings
