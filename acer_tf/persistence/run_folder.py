"""The folder of a run: one run each, with the settings that it was started with."""

import contextlib
import datetime
import importlib.metadata
import itertools
import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from acer_tf import __version__
from acer_tf.errors import InputError

SETTINGS = "config.yml"
STATISTICS = "progress.csv"
PACKAGES = ("tensorflow", "keras", "numpy", "gymnasium", "ale-py")


def default_run_folder(env_id: str) -> Path:
    """Returns runs/<env>-<date>-<time>, numbered if it exists."""
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = Path("runs") / f"{env_id.replace('/', '-')}-{now}"
    return _free(folder) if folder.exists() else folder


@contextlib.contextmanager
def run_folder(folder: Path, settings: Mapping[str, Any]) -> Iterator[Path]:
    """Creates the folder and its config.yml: the settings (plain values), the command line, versions and cores.

    A run that is refused with an InputError before it has written anything else leaves no folder behind.

    Raises:
        InputError: the folder holds a run, or cannot be written.
    """
    if (folder / SETTINGS).exists() or (folder / STATISTICS).exists():
        raise InputError(f"{folder} holds a run already; a free folder is {_free(folder)}.")
    text = yaml.safe_dump({**settings, **_origin()}, sort_keys=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Mode x: of two runs that start at the same moment only one gets the folder.
        with (folder / SETTINGS).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); choose another folder.") from error
    try:
        yield folder
    except InputError:
        if [file.name for file in folder.iterdir()] == [SETTINGS]:
            (folder / SETTINGS).unlink()
            folder.rmdir()
        raise


def _free(folder: Path) -> Path:
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in numbered if not path.exists())


def _origin() -> dict[str, Any]:
    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "command": shlex.join(sys.orig_argv),
        "versions": {"acer_tf": __version__, "python": platform.python_version(), **packages},
        "cores": os.cpu_count(),
    }
