"""Imports TensorFlow without its startup messages, and without packages that no command needs."""

import contextlib
import gc
import os
import re
import sys
import tempfile
from collections.abc import Iterator

from acer_tf.system.interrupts import end_on_interrupt, raise_on_interrupt

TENSORFLOW_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
"""Environment variable with the lowest severity that TensorFlow logs: 0 for everything, 2 for errors."""
_WITH_GREETING = ("0", "1")
_OPTIONAL = ("IPython", "matplotlib", "pandas", "scipy")
"""Packages that TensorFlow and Keras import if installed, for features that no command uses."""
_GREETING = re.compile(
    rb"[IW]\d{4} |\d{4}-\d\d-\d\d [\d:.]+: [IW] "  # hints and warnings, in the format of absl and in TensorFlow's own
    rb"|WARNING: All log messages before absl|To enable the following instructions:"
    rb"|E\d{4} .*(oneDNN supports DT_|Unable to register cu|failed call to cuInit.*(303|CUDA_ERROR_NO_DEVICE))"
)


@contextlib.contextmanager
def quiet_tensorflow(*, is_command: bool = True) -> Iterator[None]:
    """Hides TensorFlow's startup messages in a block that imports it, including those of its search for devices.

    All else on standard error (errors, tracebacks, Python's own output) is shown when the block ends, and everything if
    the block fails. Nothing is hidden if TensorFlow has been imported before, or if TF_CPP_MIN_LOG_LEVEL is 0 or 1.

    Args:
        is_command: whether the process is this package's own. If so, Ctrl-C ends it at once in this block, TensorFlow
            does not import `_OPTIONAL`, and the garbage collector ignores imported objects.
    """
    is_asked_for = os.environ.setdefault(TENSORFLOW_LOG_LEVEL, "2") in _WITH_GREETING
    is_imported = "tensorflow" in sys.modules
    with (
        _uncollected() if is_command and not is_imported else contextlib.nullcontext(),
        contextlib.nullcontext(2) if is_imported or is_asked_for else _without_messages() as terminal,
    ):
        if is_command:
            end_on_interrupt(terminal)
        try:
            if is_command:
                with _missing(*_OPTIONAL):
                    import tensorflow
            yield
        finally:
            raise_on_interrupt()
        if tensorflow := sys.modules.get("tensorflow"):
            tensorflow.config.list_logical_devices()
            # The first transposed images trigger a hint about the processor, with the severity of an error.
            tensorflow.transpose(tensorflow.zeros((1, 1), tensorflow.uint8))


@contextlib.contextmanager
def _missing(*libraries: str) -> Iterator[None]:
    """Makes libraries that have not been imported seem not installed, in this block only."""
    hidden = [name for name in libraries if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # importing None fails
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Makes the garbage collector ignore what a block imports, now and later: a million objects, hardly any garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _without_messages() -> Iterator[int]:
    """Collects the output to descriptor 2 in a file, then shows it without the messages; yields the terminal."""
    try:
        terminal, collected = os.dup(2), tempfile.TemporaryFile()
    except OSError:  # no standard error, or a full disk
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
