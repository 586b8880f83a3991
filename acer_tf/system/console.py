"""Standard output and standard error that never interrupt a command."""

import contextlib
import faulthandler
import io
import os
import select
import stat
import sys
import time
from typing import Any, TextIO

from rich.filesize import pick_unit_and_suffix

PATIENCE = 0.2
"""Seconds that the reader of the output has before a process that never waits drops lines."""


def printable(text: str) -> str:
    """Returns a text that cannot control a terminal: all except printable characters and line ends are escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def say(text: str, *, is_error: bool = False) -> None:
    """Prints `printable` text at once; a closed, full or missing stream loses the text but does not end the run.

    Characters that the stream cannot encode, for instance in a path, are also escaped.

    Args:
        text: the text, without a final line end.
        is_error: whether to print to standard error.
    """
    stream, shown = sys.stderr if is_error else sys.stdout, printable(text)
    with contextlib.suppress(OSError, ValueError):  # a closed stream raises ValueError
        try:
            print(shown, file=stream, flush=True)
        except UnicodeEncodeError:
            print(shown.encode("ascii", "backslashreplace").decode(), file=stream, flush=True)


def never_wait() -> None:
    """Keeps unread output (Ctrl-S, a stopped pager, a sleeping connection) from blocking the process from here on.

    Lines are dropped instead, and their number is printed once the output is read again. For commands that do more than
    print; affects only the streams that `keep_output_open` has made.
    """
    for stream in (sys.stdout, sys.stderr):
        raw = getattr(getattr(stream, "buffer", None), "raw", None)
        if isinstance(raw, _Lossy):
            raw.never_wait()


def say_in_handler(text: bytes) -> None:
    """Writes to standard error if it can take text now: signal handlers can neither use streams nor wait."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32" or select.select([], [2], [], 0)[1]:
            os.write(2, text)


def counted(number: int, noun: str) -> str:
    """Formats a number of things, such as 1 run or 2 runs."""
    return f"{number} {noun}{'s' * (number != 1)}"


def in_bytes(number: float) -> str:
    """Formats a number of bytes in GiB, MiB, KiB or bytes."""
    unit, suffix = pick_unit_and_suffix(int(number), ["bytes", "KiB", "MiB", "GiB"], 1024)
    decimals = {"bytes": 0, "GiB": 2}.get(suffix, 1)
    return f"{number / unit:.{decimals}f} {suffix}"


def keep_output_open() -> None:
    """Makes this process's standard streams unbreakable: neither writing to them nor the process's end raises an error.

    All output of Python goes through them: print, warnings, tracebacks, logging, rich. Closed descriptors 0 to 2 are
    opened on /dev/null, so that no file of the run gets their number, and with it the output of C code. Streams that
    the caller has redirected, such as a notebook's, are left alone. A crash in C code shows the stacks.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _unbreakable(sys.stdout, 1)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _unbreakable(sys.stderr, 2)
    if not faulthandler.is_enabled():
        faulthandler.enable(os.dup(2))  # quiet_tensorflow redirects descriptor 2 itself


class _Lossy(io.FileIO):
    """A descriptor that takes everything; what cannot be written (closed pipe, full disk, hung-up terminal) is lost."""

    _unwaiting: int | None = None
    _is_unread = False
    _missing = 0  # lines

    def never_wait(self) -> None:
        """Drops what nobody reads from here on, without changing the descriptor, which other processes share.

        On Windows, it still waits, as nothing tells whether a write would block.
        """
        descriptor = self.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        if self._unwaiting is not None or sys.platform == "win32" or not (is_pipe or self.isatty()):
            return
        try:  # opened again, it has its own flags; only Linux can reopen a pipe
            name = f"/proc/self/fd/{descriptor}" if sys.platform == "linux" else os.ttyname(descriptor)
            self._unwaiting = os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            if is_pipe:
                self._unwaiting = descriptor  # once `select` reports that it takes some, PIPE_BUF bytes never wait

    def write(self, data: Any) -> int:
        """Writes what it can; returns how many bytes need not be written again, including lost ones."""
        size = memoryview(data).nbytes
        with contextlib.suppress(OSError):
            if self._unwaiting is None:
                return super().write(data) or size
            self._write_or_drop(self._unwaiting, bytes(data))
        return size

    def _write_or_drop(self, descriptor: int, data: bytes) -> None:
        deadline = time.monotonic() + (0 if self._is_unread else PATIENCE)
        note = f"\n[{counted(self._missing, 'line')} missing here: nobody read them]\n" if self._missing else ""
        left = note.encode() + data
        while left:
            if not select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))[1]:
                self._is_unread = True
                self._missing += left[-len(data) :].count(b"\n")
                return
            with contextlib.suppress(BlockingIOError):  # another process was faster
                left = left[os.write(descriptor, left[: select.PIPE_BUF]) :]
                self._is_unread, self._missing = False, 0


def _unbreakable(stream: TextIO | None, descriptor: int) -> TextIO:
    """Wraps a stream's descriptor anew; the stream is None if Python found the descriptor closed."""
    raw = _Lossy(os.devnull if stream is None else descriptor, "w", closefd=stream is None)
    encoding = "utf-8" if stream is None else stream.encoding
    # A character that the terminal does not support is no reason to fail either.
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=True)
