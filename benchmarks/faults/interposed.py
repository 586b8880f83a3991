"""The disk as training processes see it: the paths that they sync and rename, and paths that cannot be written."""

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


class Disk:
    """A library between the processes and the C library, if a compiler is installed.

    Attributes:
        environment: variables that make a process use it.
    """

    def __init__(self, folder: Path) -> None:
        """Uses an existing folder on a disk that is never full."""
        self._trace, self._rule, self._unreadable = folder / "trace", folder / "rule", folder / "unreadable"
        library = compiled()
        self.environment = {} if library is None else {"LD_PRELOAD": str(library), "ACER_FAULTS": str(folder)}

    def calls(self) -> list[str]:
        """Returns `sync PATH`, `from PATH` and `to PATH` of each call since `forget`."""
        return self._trace.read_text(encoding="utf-8").splitlines() if self._trace.exists() else []

    def forget(self) -> None:
        """Forgets the calls so far."""
        self._trace.unlink(missing_ok=True)

    def is_saving(self) -> bool:
        """Whether the last call is part of a checkpoint that is not published yet."""
        calls = self.calls()
        return bool(calls) and calls[-1].startswith("sync") and "/checkpoints/" in calls[-1]

    def make_unreadable(self, file: Path) -> None:
        """Makes reads of a file fail, under any name."""
        with self._unreadable.open("a", encoding="utf-8") as inodes:
            inodes.write(f" {file.stat().st_ino} ")

    @contextlib.contextmanager
    def refusing(self, part: str) -> Iterator[None]:
        """Makes writes, syncs and renames of paths with this part fail while the block runs."""
        self._rule.write_text(part, encoding="utf-8")
        try:
            yield
        finally:
            self._rule.unlink()


@functools.cache
def compiled() -> Path | None:
    """Returns the library, or None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = Path(tempfile.mkdtemp(prefix="acer-faults-")) / "interposed.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    os.chmod(library.parent, 0o755)
    return library


def unsynced(calls: list[str], files: tuple[str, ...]) -> list[str]:
    """Returns the files of published checkpoints that were not on the disk before the folder got its name."""
    synced, missing, old = set[str](), list[str](), ""
    for call in calls:
        verb, _, path = call.partition(" ")
        if verb == "sync":
            synced.add(path)
        elif verb == "from":
            old = path
        elif "/checkpoints/step-" in path and path.rpartition("/")[2].startswith("step-"):
            missing += [f"{path}/{name}" for name in files if f"{old}/{name}" not in synced]
        elif old in synced:
            synced.add(path)  # a file keeps its contents under a new name
    return missing
