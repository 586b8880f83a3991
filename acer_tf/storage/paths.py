"""Paths: as users write them, and names that are free."""

import itertools
import os
from pathlib import Path

from acer_tf.errors import InputError, type_in_words


def user_path(path: str | os.PathLike[str]) -> Path:
    """Returns a path that a user gave, with `~` as their home folder, also where no shell has replaced it.

    Raises:
        InputError: it is no path.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a path is {type_in_words(path)}; expected text or a pathlib.Path.")
    return Path(os.path.expanduser(path))


def check_name(path: Path) -> None:
    """Checks that a path has a last part, which a file could have as its name.

    Raises:
        InputError: it has none, as `.` and `/`.
    """
    if not path.name:
        raise InputError(f"{path} is a folder; expected the name of a file.")


def path_text(path: object) -> str:
    """Returns a path as text for files in UTF-8: bytes of its name that are none are escaped."""
    return str(path).encode(errors="backslashreplace").decode()


def free_path(path: Path, suffix: str = "") -> Path:
    """Returns the first of `path`, `path-2`, `path-3`, ..., each followed by the suffix, that does not exist."""
    names = itertools.chain([path.name], (f"{path.name}-{number}" for number in itertools.count(2)))
    return next(free for name in names if not (free := path.with_name(name + suffix)).exists())
