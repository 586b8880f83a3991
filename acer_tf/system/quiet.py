"""Keeps TensorFlow's greeting from the terminal, and nothing else.

Run as a program, this file is the filter behind `quiet_tensorflow`: from standard input to standard error.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
"""Environment variable with the lowest severity that TensorFlow logs: 0 everything, 2 errors."""
ASKED_FOR = ("0", "1")
"""Its values with which the greeting is wanted."""
_STARTED = b"tensorflow has started\n"
_GREETING = re.compile(
    rb"[IW]\d{4} |\d{4}-\d\d-\d\d [\d:.]+: [IW] "  # hints and warnings, in the format of absl and in TensorFlow's own
    rb"|WARNING: All log messages before absl|To enable the following instructions:"
    rb"|E\d{4} .*(oneDNN supports DT_|Unable to register cu|failed call to cuInit.*(303|CUDA_ERROR_NO_DEVICE))"
)
_DRAIN_SECONDS = 5.0


@contextlib.contextmanager
def quiet_tensorflow() -> Iterator[None]:
    """Hides TensorFlow's greeting in a block that imports it, and then finds its devices, which it greets, too.

    For commands; a library leaves the descriptors of its process alone. Everything else on standard error is shown at
    once: errors, tracebacks, Python's own output. If the import fails or the process dies, all that was hidden is
    shown, too. Nothing is hidden if TensorFlow has been imported before, or TF_CPP_MIN_LOG_LEVEL is set to 0 or 1.
    """
    is_asked_for = os.environ.setdefault(LEVEL, "2") in ASKED_FOR
    with contextlib.nullcontext() if is_asked_for or "tensorflow" in sys.modules else _filtered():
        yield
        if tensorflow := sys.modules.get("tensorflow"):
            tensorflow.config.list_logical_devices()
            # The first images that are transposed bring a hint about the processor, of the severity of errors.
            tensorflow.transpose(tensorflow.zeros((1, 1), tensorflow.uint8))


@contextlib.contextmanager
def _filtered() -> Iterator[None]:
    """Passes what is written to file descriptor 2 through this file, in a process that outlives this one.

    A thread could not show the last words of a process that TensorFlow aborts, as it does on a processor without AVX.
    """
    try:
        terminal = os.dup(2)
        # In a session of its own, Ctrl-C does not reach it.
        words = [sys.executable, "-I", "-S", __file__]
        shown = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    except OSError:  # there is no standard error, or no process to be had
        yield
        return
    assert shown.stdin is not None
    last_word = b""
    try:
        os.dup2(shown.stdin.fileno(), 2)
        yield
        last_word = _STARTED
    except (KeyboardInterrupt, SystemExit):  # no failure of TensorFlow's
        last_word = _STARTED
        raise
    finally:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)
        with contextlib.suppress(OSError):  # the filter was killed
            shown.stdin.write(last_word)
            shown.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a process that was started meanwhile still writes there
            shown.wait(_DRAIN_SECONDS)


def _filter() -> None:
    """Copies standard input to standard error, line by line; the greeting only if the start fails."""
    hidden: list[bytes] = []
    for line in sys.stdin.buffer:
        if line.endswith(_STARTED):
            hidden.clear()
            line = line.removesuffix(_STARTED)
        if _GREETING.match(line):
            hidden.append(line)
        else:
            _show(line)
    _show(*hidden)


def _show(*lines: bytes) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.buffer.writelines(lines)
        sys.stderr.buffer.flush()


if __name__ == "__main__":
    _filter()
