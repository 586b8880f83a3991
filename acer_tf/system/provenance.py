"""Provenance of a result: commit, software versions and hardware."""

import contextlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from acer_tf import __version__
from acer_tf.system.compute import ONEDNN_VARIABLE, cores, processor_name, tensorflow_threads

ROOT = Path(__file__).resolve().parents[2]
GIT_SECONDS = 5.0
PACKAGES = ("tensorflow", "keras", "numpy", "gymnasium", "ale-py")
SIMULATORS = ("box2d", "dm-control", "minatar", "mujoco")
"""Packages of the extras, each of which may be missing."""


def commit() -> str | None:
    """Returns the commit of this package, with `-dirty` if its files differ, or None outside its repository."""
    if not (ROOT / ".git").exists():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        changed = _git("status", "--porcelain", "--", "acer_tf")
        return _git("rev-parse", "--short=10", "HEAD") + ("-dirty" if changed else "")
    return None


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=GIT_SECONDS).stdout.strip()


def origin() -> dict[str, Any]:
    """Returns the software and hardware on which the last bits of a result depend, as plain values."""
    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    for name in SIMULATORS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return {
        "versions": {"acer_tf": __version__, "python": platform.python_version(), **packages},
        "cores": cores(),
        "tensorflow_threads": tensorflow_threads(),
        "processor": processor_name(),
        "onednn": os.environ.get(ONEDNN_VARIABLE, "default"),
    }
