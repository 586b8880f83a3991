"""Worker processes that step games: one short message per worker and command, with all data in shared memory."""

import contextlib
import itertools
import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import cv2

from acer_tf.envs.atari.games import Games, Rows, rows_in
from acer_tf.system.children import START_METHOD, become_worker, program_hidden

MakeGames = Callable[[Rows], Games]

_DONE = b""
_WAITS = 10


class Fault(NamedTuple):
    """Failure of a worker.

    Attributes:
        envs: the environments it stepped.
        what: message that says which worker failed and how.
        traceback: traceback of the exception that the worker raised; empty if there was none.
    """

    envs: range
    what: str
    traceback: str = ""


def _serve(pipe: Connection, make_games: MakeGames, memory: Any, envs: range) -> None:
    """Runs in the worker: executes and answers commands until the other end of the pipe is closed."""
    become_worker()
    cv2.setNumThreads(1)
    games = make_games(rows_in(memory, envs))
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        while True:
            command = pipe.recv_bytes().decode()
            pipe.send_bytes(_execute(games, command))


def _execute(games: Games, command: str) -> bytes:
    """Returns the traceback if the command raises; as text, since not every exception can be pickled."""
    try:
        getattr(games, command)()
    except BaseException:
        return traceback.format_exc().encode(errors="backslashreplace")
    return _DONE


class _Worker:
    """A process and this end of its pipe.

    Attributes:
        envs: the environments that it steps.
        pipe: ready to read when the worker has answered or died, since only the worker holds the other end.
        is_busy: whether a command has been sent but not answered.
    """

    def __init__(self, context: Any, make_games: MakeGames, memory: Any, envs: range) -> None:
        self.envs = envs
        self.is_busy = False
        self.pipe, far_end = context.Pipe()
        args = far_end, make_games, memory, envs
        self._process = context.Process(target=_serve, args=args, daemon=True, name=f"envs-{envs.start}")
        with program_hidden():
            self._process.start()
        far_end.close()

    def send(self, command: str) -> None:
        """Sends the name of a method of `Games`."""
        with contextlib.suppress(OSError):  # `answer` reports a worker that died
            self.pipe.send_bytes(command.encode())
        self.is_busy = True

    def answer(self) -> Fault | None:
        """Reads the answer; returns None on success. The pipe must be ready."""
        self.is_busy = False
        try:
            report = self.pipe.recv_bytes().decode()
        except (EOFError, OSError):
            self._process.join(1)
            return self.fault(f"died with exit code {self._process.exitcode}")
        return self.fault("raised an exception", report) if report else None

    def fault(self, what: str, report: str = "") -> Fault:
        """Returns a fault of this worker."""
        return Fault(self.envs, f"the worker of environments {self.envs[0]} to {self.envs[-1]} {what}", report)

    def close(self) -> None:
        """Kills the process, which holds nothing that must be released properly."""
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


class Workers:
    """A few processes with several games each, consecutive environments together."""

    def __init__(self, make_games: MakeGames, memory: Any, num_env: int, num_workers: int) -> None:
        """Starts the processes.

        Args:
            make_games: called in every worker with its rows; a module's function or class, or a partial of one.
            memory: memory of the rows of all environments.
            num_env: number of environments, N.
            num_workers: number of processes, at most N.
        """
        self._context = multiprocessing.get_context(START_METHOD)
        self._make_games = make_games
        self._memory = memory
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
        """Waits until all workers have answered; returns the faults of those that raised, died or did not answer.

        Args:
            timeout: seconds without an answer from any worker after which to give up on the rest. Time during which
                this process itself was stopped does not count.
        """
        busy = {worker.pipe: worker for worker in self._workers.values() if worker.is_busy}
        faults = []
        silences = 0
        while busy and silences < _WAITS:
            ready = wait(list(busy), timeout / _WAITS)  # in slices: however long this process is stopped, one is lost
            silences = 0 if ready else silences + 1
            answers = [busy.pop(pipe).answer() for pipe in ready]
            faults += [fault for fault in answers if fault]
        return faults + [worker.fault(f"gave no answer for {timeout:g} s") for worker in busy.values()]

    def restart(self, fault: Fault) -> None:
        """Replaces the process that failed with a new one, and sends that the command to start its games."""
        self._workers.pop(fault.envs).close()
        self._start(fault.envs)
        self._workers[fault.envs].send("start")

    def close(self) -> None:
        """Ends all processes. May be called more than once."""
        while self._workers:
            self._workers.popitem()[1].close()

    def _start(self, envs: range) -> None:
        self._workers[envs] = _Worker(self._context, self._make_games, self._memory, envs)
