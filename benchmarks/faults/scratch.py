"""A small file system that can be filled up."""

import contextlib
import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEBIBYTES = 64


class Scratch:
    """A folder for runs.

    Attributes:
        folder: the folder.
        is_small: whether the folder is a separate file system, which `full` can fill up.
    """

    def __init__(self, folder: Path, is_small: bool) -> None:
        self.folder = folder
        self.is_small = is_small

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Leaves no room while the block runs."""
        ballast = self.folder / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                _fill(file.fileno())
            yield
        finally:
            ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch() -> Iterator[Scratch]:
    """Yields an empty folder in memory of `MEBIBYTES`, or an ordinary one if mounting is not allowed."""
    with tempfile.TemporaryDirectory() as name:
        is_small = os.geteuid() == 0 and _mount(name)
        try:
            yield Scratch(Path(name), is_small)
        finally:
            if is_small:
                subprocess.run(["umount", "--lazy", name], check=True)


def _mount(folder: str) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={MEBIBYTES}m", "none", folder]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _fill(descriptor: int) -> None:
    block = bytes(2**16)
    while block:
        try:
            os.write(descriptor, block)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            block = block[: len(block) // 2]
