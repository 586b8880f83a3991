"""The commit of this package's source, where it runs from a repository."""

import contextlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 5.0


def commit() -> str | None:
    """Returns the commit, with `-dirty` if files of the package differ; None outside of the package's repository."""
    if not (ROOT / ".git").exists():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        changed = _git("status", "--porcelain", "--", "acer_tf")
        return _git("rev-parse", "--short=10", "HEAD") + ("-dirty" if changed else "")
    return None


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout.strip()
