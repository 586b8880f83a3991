"""The commit of this package's source, where it runs from a repository."""

import contextlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 5.0


def commit() -> str | None:
    """Returns the commit, followed by `-dirty` if files differ from it; None outside of the package's repository."""
    if not (ROOT / ".git").exists():
        return None
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=SECONDS)
        return done.stdout.strip() or None
    return None
