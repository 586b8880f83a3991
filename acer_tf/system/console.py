"""Standard output and standard error, which never interrupt a command and show what matters."""

import contextlib
import faulthandler
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, TextIO

from rich.filesize import pick_unit_and_suffix

from acer_tf.system.interrupts import end_on_interrupt, raise_on_interrupt

TENSORFLOW_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
"""Environment variable with the lowest severity that TensorFlow logs: 0 everything, 2 errors."""
_WITH_GREETING = ("0", "1")
_GREETING = re.compile(
    rb"[IW]\d{4} |\d{4}-\d\d-\d\d [\d:.]+: [IW] "  # hints and warnings, in the format of absl and in TensorFlow's own
    rb"|WARNING: All log messages before absl|To enable the following instructions:"
    rb"|E\d{4} .*(oneDNN supports DT_|Unable to register cu|failed call to cuInit.*(303|CUDA_ERROR_NO_DEVICE))"
)


def printable(text: str) -> str:
    """Returns a text that steers no terminal: all but printable characters and line ends are escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def say(text: str, *, is_error: bool = False) -> None:
    """Prints at once, as `printable`; a closed pipe, or a full disk behind the stream, loses the text but not the run.

    Args:
        text: without the end of its last line.
        is_error: prints to standard error.
    """
    with contextlib.suppress(OSError):
        print(printable(text), file=sys.stderr if is_error else sys.stdout, flush=True)


def counted(number: int, noun: str) -> str:
    """Formats a number of things, such as 1 run and 2 runs."""
    return f"{number} {noun}{'s' * (number != 1)}"


def in_bytes(number: float) -> str:
    """Formats a number of bytes in GiB, MiB, KiB or bytes."""
    unit, suffix = pick_unit_and_suffix(int(number), ["bytes", "KiB", "MiB", "GiB"], 1024)
    decimals = {"bytes": 0, "GiB": 2}.get(suffix, 1)
    return f"{number / unit:.{decimals}f} {suffix}"


def keep_output_open() -> None:
    """Makes this process's standard streams unbreakable: writing to them never raises, nor does the end of the process.

    Everything in Python that prints goes through them: print, warnings, tracebacks, logging, rich. Descriptors 0 to 2
    that are closed are opened on /dev/null, so that no file of the run gets their number and the prints of C code.
    Streams that the caller has redirected, such as a notebook's, are left alone. A crash in C code shows the stacks.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _unbreakable(sys.stdout, 1)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _unbreakable(sys.stderr, 2)
    if not faulthandler.is_enabled():
        faulthandler.enable(os.dup(2))  # descriptor 2 itself is redirected by quiet_tensorflow


class _Lossy(io.FileIO):
    """A descriptor that takes everything: what cannot be written (closed pipe, full disk, hung-up terminal) is lost."""

    def write(self, data: Any) -> int:
        """Writes what is possible; returns how many bytes need not be written again, those that are lost included."""
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written


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


@contextlib.contextmanager
def quiet_tensorflow(*, is_command: bool = True) -> Iterator[None]:
    """Hides TensorFlow's greeting in a block that imports it, and then finds its devices, which it greets, too.

    Everything else on standard error is shown when the block ends: errors, tracebacks, Python's own output; all of it
    if the block fails. Nothing is hidden if TensorFlow has been imported before, or TF_CPP_MIN_LOG_LEVEL is set to 0
    or 1.

    Args:
        is_command: whether Ctrl-C ends the process at once in this block.
    """
    is_asked_for = os.environ.setdefault(TENSORFLOW_LOG_LEVEL, "2") in _WITH_GREETING
    is_shown = is_asked_for or "tensorflow" in sys.modules
    with contextlib.nullcontext(2) if is_shown else _without_greeting() as terminal:
        if is_command:
            end_on_interrupt(terminal)
        try:
            yield
        finally:
            raise_on_interrupt()
        if tensorflow := sys.modules.get("tensorflow"):
            tensorflow.config.list_logical_devices()
            # The first images that are transposed bring a hint about the processor, of the severity of errors.
            tensorflow.transpose(tensorflow.zeros((1, 1), tensorflow.uint8))


@contextlib.contextmanager
def _without_greeting() -> Iterator[int]:
    """Collects in a file what is written to descriptor 2, then shows it without the greeting; yields the terminal."""
    try:
        terminal, collected = os.dup(2), tempfile.TemporaryFile()
    except OSError:  # there is no standard error, or no room
        yield 2
        return
    has_failed = False
    with open(terminal, "wb", buffering=0) as shown, collected:
        os.dup2(collected.fileno(), 2)
        try:
            yield terminal
        except Exception:
            has_failed = True
            raise
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(terminal, 2)
            collected.seek(0)
            with contextlib.suppress(OSError):
                shown.writelines(line for line in collected if has_failed or not _GREETING.match(line))
