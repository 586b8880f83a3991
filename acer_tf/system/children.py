"""Child processes that end with their parent, in whatever way it ends."""

import contextlib
import functools
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import types
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

from acer_tf.system.links import without_links

if sys.platform == "linux":
    import fcntl

START_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""How multiprocessing starts workers: not by fork, which would copy the locks of TensorFlow's threads."""


def start_module(words: Sequence[str], log: Path, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Starts `python -m WORDS` in its own session; on Linux, it receives SIGHUP if this process is killed.

    Args:
        words: the words after `python -m`.
        log: file to which its output is appended.
        folder: working directory; None takes this process's.

    Raises:
        OSError: the log is a link or cannot be written, or the folder does not exist.
    """
    with open(log, "ab", opener=without_links) as output:
        lifeline, end = os.pipe()
        try:
            # A new session: Ctrl-C in the terminal reaches only the parent, which passes it on once.
            child = subprocess.Popen(
                [sys.executable, "-m", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
                pass_fds=[lifeline] if sys.platform == "linux" else [],
                # SIGHUP makes a run save and end.
                preexec_fn=functools.partial(_end_with, lifeline, signal.SIGHUP) if sys.platform == "linux" else None,
            )
        except BaseException:
            os.close(end)
            raise
        finally:
            os.close(lifeline)
    weakref.finalize(child, os.close, end)
    return child


def note(log: Path, text: str) -> None:
    """Appends a line to the log of another program; if the log cannot be written, the line is lost."""
    with contextlib.suppress(OSError), open(log, "a", encoding="utf-8", opener=without_links) as file:
        file.write(f"\n{text}\n")


def become_worker() -> None:
    """Makes this process, which multiprocessing started, end with its parent; on Linux, even while it hangs.

    It leaves signals that all processes get at once to the parent: Ctrl-C and hang-up from a terminal, and SIGTERM from
    `timeout` or a cluster's scheduler.
    """
    for name in {"SIGINT", "SIGHUP"} & signal.Signals.__members__.keys():
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: None)  # programs of environments would inherit SIG_IGN
    if sys.platform == "linux":
        parent = multiprocessing.parent_process()
        assert parent is not None
        _end_with(parent.sentinel, signal.SIGKILL)


@contextlib.contextmanager
def program_hidden() -> Iterator[None]:
    """Keeps a worker from importing the main module again when it starts.

    multiprocessing would do so in every worker. Environments do not need it, but it may load TensorFlow, and without
    `if __name__ == "__main__"` it would start workers itself and fail.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


if sys.platform == "linux":

    def _end_with(lifeline: int, signum: signal.Signals) -> None:
        """Makes the kernel send this process a signal when the last process that could write to a pipe has ended.

        That works even if this process hangs in C code that holds the interpreter's lock.
        """
        if signum != signal.SIGKILL:
            signal.signal(signum, signal.SIG_DFL)  # the parent may ignore it
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signum)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | fcntl.FASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it has ended already
            os.kill(os.getpid(), signum)
