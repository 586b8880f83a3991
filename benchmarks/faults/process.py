"""A training process, started with any streams and watched through its output and its checkpoints."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

MARK = "ACER_TF_FAULTS"
"""Environment variable that marks every process of the campaign."""
PATIENCE = 300.0
"""Seconds after which a process that should have ended counts as hanging."""
HANDOVER_SECONDS = 1.0
"""Seconds within which a process that has released the folder says so."""
POLL = 0.002
SHARED_MEMORY = Path("/dev/shm")
_BEGUN = re.compile(r"^(training on|running) ", re.MULTILINE)
"""Lines that a run or a sweep prints once it has the folder."""
_ENDED = re.compile(r"^((done|stopped) at step|resume with:|error:) ", re.MULTILINE)


class StuckError(Exception):
    """A process did not get where it should have, or did not end."""


class Training:
    """A command that trains, in its own session.

    Attributes:
        process: its first process.
        folder: its run folder.
        output: file for its standard output and error, unless these are given.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        output: Path,
        environment: Mapping[str, str],
        streams: Sequence[int | None] = (None, None),
    ) -> None:
        """Starts the command.

        Args:
            words: the command line.
            folder: its run folder.
            output: file for both streams.
            environment: further environment variables.
            streams: descriptors for standard output and error; None means the file.
        """
        self.folder, self.output = folder, output
        self._words, self._environment = words, {**os.environ, **environment, MARK: str(os.getpid())}
        with output.open("wb") as file:
            out, error = (file.fileno() if stream is None else stream for stream in streams)
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=error,
                env=self._environment,
                start_new_session=True,
            )

    def said(self) -> str:
        """Returns the output so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def has_begun(self) -> bool:
        """Returns whether it has taken the folder and trains, or has trained."""
        return _BEGUN.search(self.said()) is not None

    def is_training(self) -> bool:
        """Returns whether it trains now."""
        return self.process.poll() is None and self.has_begun() and not _ENDED.search(self.said())

    def resumed_at(self) -> int | None:
        """Returns the step at which it says that it resumed, or None."""
        match = re.search(r"resumed at step ([\d,]+)", self.said())
        return None if match is None else int(match[1].replace(",", ""))

    def wait_until(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Waits until the condition holds, the process ends or time is up."""
        end = time.monotonic() + seconds
        while not condition() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(POLL)

    def descriptors(self) -> int:
        """Returns the number of open descriptors of the first process, or 0 if it has ended."""
        try:
            return psutil.Process(self.process.pid).num_fds()
        except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            return 0

    def send(self, signum: int) -> None:
        """Sends a signal to the first process, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signum)

    def again(self) -> int:
        """Runs the command a second time, while the first may run; returns its exit status.

        Raises:
            StuckError: both train, or it does not end.
        """
        second = Training(self._words, self.folder, self.output.with_suffix(".second"), self._environment)
        try:
            second.wait_until(second.has_begun)
            time.sleep(HANDOVER_SECONDS)
            if self.is_training() and second.is_training():
                raise StuckError("a second process trains in the folder of the first")
            return second.end()
        finally:
            second.destroy()

    def end(self) -> int:
        """Waits for the end; returns the exit status.

        Raises:
            StuckError: it did not end.
        """
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise StuckError(f"still running after {PATIENCE:.0f} s") from error

    def destroy(self) -> None:
        """Kills every process of its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def survivors() -> list[psutil.Process]:
    """Returns the processes of this campaign that are still alive."""
    return [process for process in psutil.process_iter() if _is_marked(process)]


def unmapped() -> set[str]:
    """Returns the names of shared memory and semaphores that no living process maps, so that nobody removes them."""
    mapped: set[int] = set()
    names = {entry.name: entry.inode() for entry in os.scandir(SHARED_MEMORY)}
    for maps in Path("/proc").glob("[0-9]*/maps") if names else ():
        with contextlib.suppress(OSError):  # the process has ended
            lines = re.findall(rf"(\d+) +{SHARED_MEMORY}/", maps.read_text(errors="replace"))
            mapped.update(map(int, lines))  # inodes, as a semaphore is mapped before it gets its name
    return {name for name, inode in names.items() if inode not in mapped}


def _is_marked(process: psutil.Process) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(MARK) == str(os.getpid())
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False
