"""Standard output and standard error of a process that outlives whoever reads them."""

import io
import os
import sys
from typing import Any, TextIO


class _Lossy(io.FileIO):
    """A descriptor that takes everything: what cannot be written (closed pipe, full disk, hung-up terminal) is lost."""

    def write(self, data: Any) -> int:
        """Writes what is possible; returns how many bytes need not be written again, those that are lost included."""
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written


def keep_output_open() -> None:
    """Makes this process's standard streams unbreakable: writing to them never raises, nor does the end of the process.

    Everything in Python that prints goes through them: print, warnings, tracebacks, logging, rich. Descriptors 0 to 2
    that are closed are opened on /dev/null, so that no file of the run gets their number and the prints of C code.
    Streams that the caller has redirected, such as a notebook's, are left alone.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _unbreakable(sys.stdout, 1)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _unbreakable(sys.stderr, 2)


def _unbreakable(stream: TextIO | None, descriptor: int) -> TextIO:
    """Wraps a stream's descriptor anew.

    Args:
        stream: None if Python found the descriptor closed.
        descriptor: the stream's.
    """
    raw = _Lossy(os.devnull if stream is None else descriptor, "w", closefd=stream is None)
    encoding = "utf-8" if stream is None else stream.encoding
    # A character that the terminal does not know is no reason to fail either.
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=True)
