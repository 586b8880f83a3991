"""The Ray task that runs a program as a child on some node and watches over it."""

import contextlib
import math
import os
import platform
import secrets
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from acer_tf.storage.durable import replace
from acer_tf.system.children import start_module

POLL_SECONDS = 0.2
HEARTBEAT_SECONDS = 5.0


class Ended(NamedTuple):
    """The end of a program.

    Attributes:
        returncode: as in `subprocess`; None if it could not be started.
        host: the host on which it ran.
        reason: why it could not be started.
    """

    returncode: int | None
    host: str
    reason: str = ""


class Program(NamedTuple):
    """A program to run on any node; all paths are absolute and on storage that the nodes share.

    Attributes:
        words: the words after `python -m`.
        folder: working directory.
        log: file for its output.
        heartbeat: existing file that the supervisor touches as long as it lives; see `new_heartbeat`.
        ticket: word in that file.
    """

    words: Sequence[str]
    folder: Path
    log: Path
    heartbeat: Path
    ticket: str


def new_heartbeat(path: Path) -> str:
    """Writes a file with a unique word, by which nodes recognise it; returns the word."""
    ticket = secrets.token_hex(8)
    replace(path, f"waiting {ticket}\n".encode())
    return ticket


def is_running(heartbeat: Path) -> bool:
    """Returns whether a supervisor has started its program."""
    return _written(heartbeat).startswith("running")


def _written(heartbeat: Path) -> str:
    try:
        return heartbeat.read_text(encoding="utf-8")
    except OSError:
        return ""


def supervise(program: Program) -> Ended:
    """Runs the program until it ends, passing on every interrupt, such as from `ray.cancel`, as SIGTERM.

    If this process is killed, the program gets SIGHUP.
    """
    host = platform.node()
    if reason := _obstacle(program, host):
        return Ended(None, host, reason)
    interrupts: list[int] = []  # a KeyboardInterrupt just after the child has started might lose it
    previous = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        return Ended(_run(program, interrupts), host)
    except OSError as error:
        return Ended(None, host, f"{error.strerror} on {host}: {error.filename}")
    finally:
        signal.signal(signal.SIGINT, previous)


def _obstacle(program: Program, host: str) -> str:
    if program.ticket not in _written(program.heartbeat):
        folder = program.heartbeat.parent
        return f"{folder} on {host} is not the folder of the sweep; every node needs it at the same path."
    if not program.folder.is_dir():
        return f"{program.folder} does not exist on {host}; start the sweep from a folder that every node has."
    return ""


def _run(program: Program, interrupts: Sequence[int]) -> int:
    note = f"running {program.ticket} on {platform.node()}, process {os.getpid()}\n"
    child = start_module(program.words, program.log, program.folder)
    passed_on, last, is_noted = 0, -math.inf, False
    while (returncode := child.poll()) is None:
        while passed_on < len(interrupts):  # the first makes it save and end, the second end at once
            child.terminate()
            passed_on += 1
        if time.monotonic() - last > HEARTBEAT_SECONDS:
            with contextlib.suppress(OSError):  # a storage outage or a full disk may pass
                if is_noted:
                    os.utime(program.heartbeat)
                else:
                    replace(program.heartbeat, note.encode())
                    is_noted = True
            last = time.monotonic()
        time.sleep(POLL_SECONDS)
    return returncode
