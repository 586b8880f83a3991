"""Starts programs as children that end with their parent."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from acer_tf.system.parent import end_with_parent


def start_module(words: Sequence[str], log: Path, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Starts `python -m WORDS` in a session of its own; if this process is killed, it gets SIGHUP.

    Args:
        words: the words after `python -m`.
        log: file to which its output is appended.
        folder: its working directory; None takes this process's.

    Raises:
        OSError: the log cannot be written, or the folder does not exist.
    """
    with log.open("ab") as output:
        # A new session: Ctrl-C in the terminal reaches the parent alone, which passes it on once.
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
            # A trial saves and ends then: a second SIGHUP, unlike SIGTERM, would not stop that.
            preexec_fn=functools.partial(end_with_parent, os.getpid(), signal.SIGHUP),
        )
