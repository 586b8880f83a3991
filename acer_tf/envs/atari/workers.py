"""Worker processes that step games: one short message per worker and command, everything else in shared memory."""

import contextlib
import itertools
import multiprocessing
import signal
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import cv2

from acer_tf.envs.atari.games import Games
from acer_tf.envs.atari.shared_rows import Rows, SharedRows

_DONE = b""
_WAITS = 10


class Fault(NamedTuple):
    """What went wrong with a worker.

    Attributes:
        envs: the environments it stepped.
        what: the worker and what happened to it, in one clause.
        traceback: of the exception in the worker, if it raised one, else empty.
    """

    envs: range
    what: str
    traceback: str = ""


def _serve(pipe: Connection, make_games: Callable[[Rows], Games], shared: SharedRows, envs: range) -> None:
    """Runs in the worker: obeys until the other end of the pipe is closed, and sends back what goes wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    cv2.setNumThreads(1)
    games = make_games(shared.rows(envs))
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        while True:
            command = pipe.recv_bytes().decode()
            pipe.send_bytes(_obey(games, command))


def _obey(games: Games, command: str) -> bytes:
    """Returns the traceback if the command raises, whatever it raises: not every exception survives a pipe."""
    try:
        getattr(games, command)()
    except BaseException:
        return traceback.format_exc().encode(errors="backslashreplace")
    return _DONE


@contextlib.contextmanager
def _program_hidden() -> Iterator[None]:
    """Keeps a starting worker from running the program again.

    multiprocessing would import the main module in every worker. The games need nothing of it, but it may load
    TensorFlow, and without `if __name__ == "__main__"` it would ask for workers itself and fail.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


class _Worker:
    """One process and this end of its pipe.

    Attributes:
        envs: the environments it steps.
        pipe: becomes ready when the worker has answered or is gone, for only the worker has the other end.
        is_busy: a command was sent and not answered yet.
    """

    def __init__(self, context: Any, make_games: Callable[[Rows], Games], shared: SharedRows, envs: range) -> None:
        self.envs = envs
        self.is_busy = False
        self.pipe, far_end = context.Pipe()
        args = far_end, make_games, shared, envs
        self._process = context.Process(target=_serve, args=args, daemon=True, name=f"envs-{envs.start}")
        with _program_hidden():
            self._process.start()
        far_end.close()

    def send(self, command: str) -> None:
        """Sends the name of a method of `Games`."""
        with contextlib.suppress(OSError):  # `answer` reports a worker that is gone
            self.pipe.send_bytes(command.encode())
        self.is_busy = True

    def answer(self) -> Fault | None:
        """Reads the answer; returns None if all is well. The pipe must be ready."""
        self.is_busy = False
        try:
            report = self.pipe.recv_bytes().decode()
        except (EOFError, OSError):
            self._process.join(1)
            return self.fault(f"died with exit code {self._process.exitcode}")
        return self.fault("raised an exception", report) if report else None

    def fault(self, what: str, report: str = "") -> Fault:
        """Names the worker."""
        return Fault(self.envs, f"the worker of environments {self.envs[0]} to {self.envs[-1]} {what}", report)

    def close(self) -> None:
        """Ends the process, whatever it does: it holds nothing that would have to be put in order."""
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


class Workers:
    """A few processes with several games each."""

    def __init__(self, make_games: Callable[[Rows], Games], shared: SharedRows, num_env: int, num_workers: int) -> None:
        """Starts the processes.

        Args:
            make_games: called in every worker, with its rows; must be a function of a module, or a partial of one.
            shared: the rows of all environments.
            num_env: number of environments, N.
            num_workers: number of processes, at most N.
        """
        # fork would copy the locks of TensorFlow's threads
        has_forkserver = "forkserver" in multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if has_forkserver else "spawn")
        self._make_games = make_games
        self._shared = shared
        self._workers: dict[range, _Worker] = {}
        bounds = [num_env * i // num_workers for i in range(num_workers + 1)]
        try:
            for start, stop in itertools.pairwise(bounds):
                self._start(range(start, stop))
        except BaseException:
            self.close()
            raise

    def send(self, command: str) -> None:
        """Sends the name of a method of `Games` to all workers."""
        for worker in self._workers.values():
            worker.send(command)

    def wait(self, timeout: float) -> list[Fault]:
        """Waits until all workers have obeyed; returns what went wrong with those that raised, died or are silent.

        Args:
            timeout: seconds without an answer from any worker after which those that have yet to answer count as
                silent. Time in which this process itself was stopped is left out.
        """
        busy = {worker.pipe: worker for worker in self._workers.values() if worker.is_busy}
        faults = []
        silences = 0
        while busy and silences < _WAITS:
            ready = wait(list(busy), timeout / _WAITS)
            silences = 0 if ready else silences + 1
            answers = [busy.pop(pipe).answer() for pipe in ready]
            faults += [fault for fault in answers if fault]
        return faults + [worker.fault(f"gave no answer for {timeout:g} s") for worker in busy.values()]

    def restart(self, fault: Fault) -> None:
        """Puts a new process in the place of the one that failed and tells it to start its games."""
        self._workers.pop(fault.envs).close()
        self._start(fault.envs)
        self._workers[fault.envs].send("start")

    def close(self) -> None:
        """Ends all processes. May be called more than once."""
        while self._workers:
            self._workers.popitem()[1].close()

    def _start(self, envs: range) -> None:
        self._workers[envs] = _Worker(self._context, self._make_games, self._shared, envs)
