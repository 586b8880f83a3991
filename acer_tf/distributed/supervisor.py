"""The Ray task that runs a program as a child on some node and watches over it."""

import contextlib
import os
import platform
import secrets
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from acer_tf.system.children import start_module

POLL_SECONDS = 0.2
BEAT_SECONDS = 5.0


class Ended(NamedTuple):
    """How a program ended.

    Attributes:
        returncode: as in `subprocess`; None if it could not be started.
        host: where it ran.
        reason: why it could not be started.
    """

    returncode: int | None
    host: str
    reason: str = ""


class Program(NamedTuple):
    """A program to run on any node; all paths are absolute, on storage that the nodes share.

    Attributes:
        words: the words after `python -m`.
        folder: its working directory.
        log: file for what it prints.
        beat: file that the supervisor touches as long as it lives; it exists, see `new_beat`.
        ticket: word in that file.
    """

    words: Sequence[str]
    folder: Path
    log: Path
    beat: Path
    ticket: str


def new_beat(path: Path) -> str:
    """Writes a file with a word that is nowhere else, by which nodes recognise it; returns the word."""
    ticket = secrets.token_hex(8)
    path.write_text(f"waiting {ticket}\n", encoding="utf-8")
    return ticket


def is_running(beat: Path) -> bool:
    """Returns whether a supervisor has started its program."""
    try:
        return beat.read_text(encoding="utf-8").startswith("running")
    except OSError:
        return False


def supervise(program: Program) -> Ended:
    """Runs the program until it ends. Every interrupt, as by `ray.cancel`, is passed on to it as SIGTERM.

    If this process is killed, the program gets SIGHUP.
    """
    host = platform.node()
    if reason := _obstacle(program, host):
        return Ended(None, host, reason)
    interrupts = _Interrupts()
    previous = signal.signal(signal.SIGINT, interrupts.handle)
    try:
        return Ended(_run(program, interrupts), host)
    except OSError as error:
        return Ended(None, host, f"{error.strerror} on {host}: {error.filename}")
    finally:
        signal.signal(signal.SIGINT, previous)


class _Interrupts:
    """Counts what would otherwise be a `KeyboardInterrupt` anywhere, even between the child's start and its name."""

    def __init__(self) -> None:
        self.count = 0

    def handle(self, signum: int, frame: FrameType | None) -> None:
        self.count += 1


def _obstacle(program: Program, host: str) -> str:
    try:
        is_shared = program.ticket in program.beat.read_text(encoding="utf-8")
    except OSError:
        is_shared = False
    if not is_shared:
        return f"{program.beat.parent} on {host} is not the folder of the sweep; every node needs it at the same path."
    if not program.folder.is_dir():
        return f"{program.folder} does not exist on {host}; start the sweep from a folder that every node has."
    return ""


def _run(program: Program, interrupts: _Interrupts) -> int:
    note = f"running {program.ticket} on {platform.node()}, process {os.getpid()}\n"
    program.beat.write_text(note, encoding="utf-8")
    child = start_module(program.words, program.log, program.folder)
    passed_on, beaten = 0, time.monotonic()
    while (returncode := child.poll()) is None:
        while passed_on < interrupts.count:
            child.terminate()
            passed_on += 1
        if time.monotonic() - beaten > BEAT_SECONDS:
            with contextlib.suppress(OSError):  # an outage of the storage ends nothing
                os.utime(program.beat)
            beaten = time.monotonic()
        time.sleep(POLL_SECONDS)
    return returncode
