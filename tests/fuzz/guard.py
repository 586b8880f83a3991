"""Bounds of what the reading of a file may take and do."""

import contextlib
import functools
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MEMORY = 2**29
"""Bytes of addresses beyond those that the process has already."""
SECONDS = 10.0
"""Of the processor, on a busy machine."""
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "socket.connect")
ENTRIES = {"os.mkdir": 0, "os.remove": 0, "os.rmdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1}
"""Audit events that change an entry of a folder, and which of their arguments is its path."""
CONTENTS = {"os.chmod": 0, "os.truncate": 0}
"""Audit events that change what a path leads to."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
WITHOUT_LINKS = os.O_EXCL | os.O_NOFOLLOW


class BrokenBoundError(AssertionError):
    """The reading of a file took or did more than it may."""


class _Watch:
    """Looks at all that Python reports while a file is read; an audit hook stays for good."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.seen: list[str] = []
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in FORBIDDEN or (event == "import" and str(arguments[0]).startswith("evil")):
            self.seen.append(f"{event} {arguments!r}")
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
            self._check_path(event, arguments[0], follows=not arguments[2] & WITHOUT_LINKS)
        elif event in ENTRIES:
            self._check_path(event, arguments[ENTRIES[event]], follows=False)
        elif event in CONTENTS:
            self._check_path(event, arguments[CONTENTS[event]], follows=True)

    def _check_path(self, event: str, path: object, follows: bool) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        name = os.fsdecode(path)
        real = os.path.realpath(name if follows or name == str(self.folder) else os.path.dirname(name))
        if self.folder is not None and not real.startswith((str(self.folder), "/dev/null")):
            self.seen.append(f"{event} {name}")


@contextlib.contextmanager
def bounded(folder: Path) -> Iterator[None]:
    """Bounds what the block does to a file of the folder.

    Raises:
        BrokenBoundError: it ran out of `MEMORY`, took longer than `SECONDS`, started a process, connected somewhere,
            imported what a file names, or changed a file that is not in the folder.
    """
    watch = _watch()
    before, limits = time.process_time(), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_addresses() + MEMORY, limits[1]))
    watch.folder, watch.seen = folder.resolve(), []
    try:
        yield
    except BaseException as error:
        if _is_of_memory(error):
            raise BrokenBoundError(f"more than {MEMORY / 2**20:.0f} MiB") from error
        raise
    finally:
        watch.folder = None
        resource.setrlimit(resource.RLIMIT_AS, limits)
    if watch.seen:
        raise BrokenBoundError(watch.seen)
    if (taken := time.process_time() - before) > SECONDS:
        raise BrokenBoundError(f"{taken:.1f} s")


def _is_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, is a lack of memory."""
    return error is not None and (isinstance(error, MemoryError) or _is_of_memory(error.__cause__ or error.__context__))


def _addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@functools.cache
def _watch() -> _Watch:
    return _Watch()
