"""Worker processes that step games: one short message per worker and command, everything else in shared memory."""

import contextlib
import itertools
import multiprocessing
import signal
import sys
import time
import traceback
import types
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NoReturn

import cv2

from acer_tf.envs.games import Games
from acer_tf.envs.shared_rows import SharedRows

_DONE = b""


def _serve(pipe: Connection, game: str, shared: SharedRows, envs: range, max_episode_frames: int | None) -> None:
    """Runs in the worker: obeys until the other end of the pipe is closed, and sends back what goes wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    cv2.setNumThreads(1)
    try:
        games = Games(game, shared.rows(envs), max_episode_frames)
        pipe.send_bytes(_DONE)
        while True:
            getattr(games, pipe.recv_bytes().decode())()
            pipe.send_bytes(_DONE)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception:
        pipe.send_bytes(traceback.format_exc().encode())


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
    """One process, its end of the pipe and the environments it steps."""

    def __init__(self, process: BaseProcess, pipe: Connection, envs: range) -> None:
        self.process = process
        self.pipe = pipe
        self.envs = envs

    @property
    def name(self) -> str:
        return f"the worker of environments {self.envs.start} to {self.envs.stop - 1}"

    def failure(self) -> str | None:
        """Reads the answer; returns None if all is well, else what happened. The worker must have answered or died."""
        try:
            if self.pipe.poll():
                report = self.pipe.recv_bytes().decode()
                return f"{self.name} failed:\n{report}" if report else None
        except (EOFError, OSError):
            pass
        self.process.join(1)
        return f"{self.name} died with exit code {self.process.exitcode}."


class Workers:
    """A few processes with several games each. After a failure all of them are ended."""

    def __init__(
        self, game: str, shared: SharedRows, num_env: int, num_workers: int, max_episode_frames: int | None
    ) -> None:
        """Starts the processes; `wait` says when they are ready."""
        # fork would copy the locks of TensorFlow's threads
        has_forkserver = "forkserver" in multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("forkserver") if has_forkserver else multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        bounds = [num_env * i // num_workers for i in range(num_workers + 1)]
        try:
            for start, stop in itertools.pairwise(bounds):
                envs = range(start, stop)
                pipe, far_end = context.Pipe()
                process = context.Process(
                    target=_serve,
                    args=(far_end, game, shared, envs, max_episode_frames),
                    daemon=True,
                    name=f"envs-{start}",
                )
                with _program_hidden():
                    process.start()
                far_end.close()
                self._workers.append(_Worker(process, pipe, envs))
        except BaseException:
            self.close()
            raise

    def send(self, command: str) -> None:
        """Sends the name of a method of `Games` to all workers."""
        for worker in self._workers:
            with contextlib.suppress(OSError):  # `wait` reports a worker that is gone
                worker.pipe.send_bytes(command.encode())

    def wait(self, timeout: float) -> None:
        """Waits until all workers have obeyed.

        Raises:
            RuntimeError: a worker raised (with its traceback), died or took longer than `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        pending = self._workers
        while pending:
            handles = [handle for worker in pending for handle in (worker.pipe, worker.process.sentinel)]
            ready = wait(handles, max(0.0, deadline - time.monotonic()))
            if not ready:
                self._fail(f"{pending[0].name} gave no answer for {timeout:g} s.")
            answered = [worker for worker in pending if worker.pipe in ready or worker.process.sentinel in ready]
            for worker in answered:
                failure = worker.failure()
                if failure:
                    self._fail(failure)
            pending = [worker for worker in pending if worker not in answered]

    def _fail(self, message: str) -> NoReturn:
        self.close()
        raise RuntimeError(message)

    def close(self) -> None:
        """Ends all processes, by force if need be. May be called more than once."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(2)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.process.close()
        self._workers = []
