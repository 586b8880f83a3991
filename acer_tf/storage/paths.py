"""Paths as users write them, and free names."""

import itertools
import os
from pathlib import Path

from acer_tf.errors import InputError, type_in_words


def user_path(path: str | os.PathLike[str]) -> Path:
    """Returns a user's path, with `~` replaced by the home folder, as no shell may have done so.

    Raises:
        InputError: it is not a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a path is {type_in_words(path)}; expected text or a pathlib.Path.")
    return Path(os.path.expanduser(path))


def check_name(path: Path) -> None:
    """Checks that a path ends in a name that a file could have.

    Raises:
        InputError: it does not, like `.` and `/`.
    """
    if not path.name:
        raise InputError(f"{path} is a folder; expected the name of a file.")


def path_text(path: object) -> str:
    """Returns a path as text for files in UTF-8; bytes of its name that are not UTF-8 are escaped."""
    return str(path).encode(errors="backslashreplace").decode()


def free_path(path: Path, suffix: str = "") -> Path:
    """Returns the first of `path`, `path-2`, `path-3`, ..., each with the suffix, that does not exist."""
    names = itertools.chain([path.name], (f"{path.name}-{number}" for number in itertools.count(2)))
    return next(free for name in names if not (free := path.with_name(name + suffix)).exists())
