"""Vector environments, stepped one after the other in this process or each in a process of its own."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.async_vector_env import AsyncState

from acer_tf.envs.makers import Maker
from acer_tf.errors import EnvironmentFailedError
from acer_tf.system.children import START_METHOD, program_hidden

ARRAYS = (Box, Discrete, MultiBinary, MultiDiscrete)
"""Spaces whose batches are arrays, one row for each environment."""


class SerialEnvs(SyncVectorEnv):
    """gymnasium's SyncVectorEnv with SAME_STEP autoreset; a step takes less time where spaces are of numbers."""

    def __init__(self, makers: list[Maker]) -> None:
        """Makes the environments."""
        super().__init__(makers, autoreset_mode=AutoresetMode.SAME_STEP)
        self._env_obs: list[Any]
        self._observations: Any
        spaces = self.single_observation_space, self.single_action_space
        self._is_plain = all(type(space) in ARRAYS for space in spaces)

    def step(self, actions: Any) -> Any:
        """Steps all environments, see `SyncVectorEnv`; returns the same, in arrays of its own."""
        if not self._is_plain:
            return super().step(actions)
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros((2, self.num_envs), np.bool_)
        infos: dict[str, Any] = {}
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            obs, rewards[i], terminations[i], truncations[i], info = env.step(action)
            if terminations[i] or truncations[i]:
                infos = self._add_info(infos, {"final_obs": obs, "final_info": info}, i)
                obs, info = env.reset()
            if info:
                infos = self._add_info(infos, info, i)
            self._env_obs[i] = obs
        observations = np.empty_like(self._observations)
        np.stack(self._env_obs, out=observations)
        return observations, rewards, terminations, truncations, infos


CLOSE_SECONDS = 5.0


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
        with program_hidden(), self._deaths_reported():
            super().__init__(makers, context=START_METHOD, autoreset_mode=AutoresetMode.SAME_STEP)
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
