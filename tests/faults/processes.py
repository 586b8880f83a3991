"""Training as a process of its own, to be killed."""

import contextlib
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.saved import steps

ROOT = Path(__file__).parents[2]
TINY = {"num_env": 2, "nsteps": 5, "buffer_size": 100, "replay_start": 20, "num_layers": 1, "num_hidden": 4, "seed": 3}
PATIENCE = 200.0
"""Seconds, on a machine that is busy otherwise."""


def command(folder: Path, module: str = "acer_tf.run", **flags: Any) -> list[str]:
    """The words that train there."""
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    return [sys.executable, "-m", module, *words, "--logdir", str(folder)]


class Training:
    """A running command, with all that it said so far."""

    def __init__(self, words: Sequence[str], folder: Path, variables: Mapping[str, str] = os.environ) -> None:
        environment = {**variables, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        self.folder = folder
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
        )
        self.said = ""
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)

    def wait_for(self, pattern: str, patience: float = PATIENCE) -> str:
        """Waits for a line that matches; returns its first group, or all that matched."""
        deadline = time.monotonic() + patience
        while not (match := re.search(pattern, self.said)):
            assert time.monotonic() < deadline, self.said
            with contextlib.suppress(queue.Empty):
                self.said += self._lines.get(timeout=0.05)
            if self.process.poll() is not None and self._lines.empty() and not self._reader.is_alive():
                assert re.search(pattern, self.said), f"ended with {self.process.returncode}:\n{self.said}"
        return match[match.lastindex or 0]

    def wait_for_checkpoint(self, step: int, folder: Path | None = None) -> None:
        """Waits until one of this step or later is published, in another folder than its own if one is given."""
        deadline = time.monotonic() + PATIENCE
        while (steps((folder or self.folder) / "checkpoints") or [-1])[-1] < step:
            assert time.monotonic() < deadline, self.said
            assert self.process.poll() is None, f"ended with {self.process.returncode} before step {step}:\n{self.said}"
            time.sleep(0.002)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Holds the process where it is."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        yield
        self.process.send_signal(signal.SIGCONT)

    def delete(self, folder: Path) -> None:
        """Deletes a folder that the process could write into meanwhile."""
        with self.paused():
            shutil.rmtree(folder)

    def kill(self) -> None:
        """As no process can prevent."""
        self.process.send_signal(signal.SIGKILL)
        assert self.end() == -signal.SIGKILL, self.said

    def end(self) -> int:
        """Waits for the end; returns the exit status."""
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        while not self._lines.empty():
            self.said += self._lines.get()
        return status

    def resume_command(self) -> list[str]:
        return shlex.split(re.findall(r"resume with: (.*)", self.said)[-1])


@contextlib.contextmanager
def training(folder: Path, words: Sequence[str] | None = None, **flags: Any) -> Iterator[Training]:
    """Starts a command, by default with a tiny network on CartPole; it is dead at the end, whatever happens."""
    started = Training(words or command(folder, **({"env": "CartPole-v1"} | TINY | flags)), folder)
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.process.pid, signal.SIGKILL)
        started.process.wait()
        started.process.stdout.close()


def check_that_none_is_left(text: str) -> None:
    """Within ten seconds, no process has this text in its command line."""
    deadline = time.monotonic() + 10
    while left := [p.info for p in psutil.process_iter(["pid", "cmdline"]) if text in str(p.info["cmdline"])]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
