"""Environments in processes of their own, for those whose step is slow."""

import contextlib
import dataclasses
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.vector.async_vector_env import AsyncState

from acer_tf.envs.adapt import checked_env
from acer_tf.envs.atari.workers import program_hidden
from acer_tf.envs.wrappers.action_masks import with_mask_info
from acer_tf.errors import EnvironmentFailedError

CLOSE_SECONDS = 5.0
Wrapper = Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]


@dataclasses.dataclass(frozen=True)
class Maker:
    """Makes an environment, in this process or in a worker.

    Attributes:
        source: what gymnasium's registry holds for the id, as a worker's may lack it; or a class or function.
        kwargs: arguments of the environment.
        wrapper: wraps it.
        made: what this process has made already and gets again; workers make their own.
    """

    source: EnvSpec | Callable[..., gymnasium.Env[Any, Any]]
    kwargs: Mapping[str, Any]
    wrapper: Wrapper | None = None
    made: gymnasium.Env[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The id, or what the class or function is called."""
        return self.source.id if isinstance(self.source, EnvSpec) else getattr(self.source, "__name__", "of its own")

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """Makes the environment."""
        if self.made is not None:
            return self.made
        if multiprocessing.parent_process() is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        if isinstance(self.source, EnvSpec):
            env = gymnasium.make(self.source, **self.kwargs)
        else:
            env = checked_env(self.source(**self.kwargs))
        return with_mask_info(env if self.wrapper is None else self.wrapper(env))

    def __reduce__(self) -> tuple[type["Maker"], tuple[Any, ...]]:
        """Leaves `made` out: it stays in this process."""
        return Maker, (self.source, self.kwargs, self.wrapper)


class ParallelEnvs(AsyncVectorEnv):
    """gymnasium's AsyncVectorEnv: a process for each environment, observations in shared memory, SAME_STEP autoreset.

    What goes wrong in a process is an `EnvironmentFailedError` here.
    """

    def __init__(self, makers: Sequence[Maker]) -> None:
        """Starts the processes.

        Raises:
            EnvironmentFailedError: a process died.
        """
        self._is_broken = False
        # Not forked, since TensorFlow's threads may be running here.
        context = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        with program_hidden(), self._deaths_reported():
            super().__init__(makers, context=context, autoreset_mode=AutoresetMode.SAME_STEP)
        self.spec = makers[0].source if isinstance(makers[0].source, EnvSpec) else None

    def reset(self, **arguments: Any) -> Any:
        """Resets all environments, see `AsyncVectorEnv`.

        Raises:
            EnvironmentFailedError: an environment raised an error, or its process died.
        """
        with self._deaths_reported():
            return super().reset(**arguments)

    def step(self, actions: Any) -> Any:
        """Steps all environments, see `AsyncVectorEnv`.

        Raises:
            EnvironmentFailedError: an environment raised an error, or its process died.
        """
        with self._deaths_reported():
            return super().step(actions)

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Closes the environments; processes that failed, or do not end within the timeout, are killed."""
        if not terminate and not self._is_broken and self._state is AsyncState.DEFAULT:
            end = time.monotonic() + (CLOSE_SECONDS if timeout is None else timeout)
            for pipe in self.parent_pipes:
                with contextlib.suppress(OSError):
                    pipe.send(("close", None))
            for process in self.processes:
                process.join(max(0.0, end - time.monotonic()))
        for process in self.processes:
            process.kill()
            process.join()
        for pipe in self.parent_pipes:
            pipe.close()

    @contextlib.contextmanager
    def _deaths_reported(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            self._is_broken = True
            for process in self.processes:
                process.join(0.2)
            dead = [(i, process.exitcode) for i, process in enumerate(self.processes) if process.exitcode is not None]
            reason = ", ".join(f"that of environment {i} with exit code {code}" for i, code in dead) or repr(error)
            raise EnvironmentFailedError(f"a process of an environment died: {reason}.") from error

    def _raise_if_errors(self, successes: Iterable[bool]) -> None:
        """Raises the first error of the processes with its traceback; gymnasium would log that, and go on without."""
        if not all(successes):
            self._is_broken = True
            index, _, _, traceback = self.error_queue.get()
            raise EnvironmentFailedError(f"environment {index} raised an error in its process:\n{traceback}")
