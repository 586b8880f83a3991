"""Vector environments, stepped one after the other in this process or each in a separate process."""

import abc
import contextlib
import copy
import multiprocessing
import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import CloudpickleWrapper, batch_space, iterate
from numpy.typing import NDArray

from acer_tf.envs.closing import close_quietly
from acer_tf.envs.rendering import rendered
from acer_tf.envs.returns import ARRAYS, batch_of, check_info, is_flag, numbers_of, with_checked_finals
from acer_tf.envs.wrappers.action_masks import MASKS, METHOD, flat_mask
from acer_tf.envs.wrappers.base import Array, StepReturn
from acer_tf.errors import EnvironmentFailedError, InputError, raised_in, refusal, type_in_words, with_own_extra
from acer_tf.system.children import START_METHOD, become_worker, program_hidden

CLOSE_SECONDS = 5.0
RESERVED = frozenset(("final_obs", "final_info", "episode", "worker_replaced"))
"""Names that vector environments, `RecordEpisodeStatistics` and `AtariPool` use in infos."""
OTHER_ARGUMENTS = re.compile(r"reset\(\) got an unexpected keyword argument '(seed|options)'")
UNPACKED = re.compile(r"values to unpack \(expected 5|cannot unpack non-iterable")
"""Python's messages when a wrapper of gymnasium unpacks what `step` returned."""

MakeEnv = Callable[[], gymnasium.Env[Any, Any]]


class Description(NamedTuple):
    """Facts about a single environment, under gymnasium's names."""

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    spec: EnvSpec | None


class AutoresetEnvs(VectorEnv[Any, Any, Array], abc.ABC):
    """Vector environment with SAME_STEP autoreset; the infos of the environments may differ in any way.

    `step` returns new arrays, which later steps leave alone.
    """

    def __init__(self, num_envs: int) -> None:
        first: Description = self._each("describe", [()] * num_envs)[0].fn
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {**first.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = first.render_mode
        self.spec = first.spec
        self._has_plain_actions = isinstance(self.single_action_space, ARRAYS)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Resets all environments; environment i gets `seed[i]`, or `seed + i` if it is a number."""
        if seed is None or isinstance(seed, int):
            seed = [None if seed is None else seed + i for i in range(self.num_envs)]
        obs, infos = zip(*self._each("reset", ((one, options) for one in seed)), strict=True)
        return batch_of(self, obs), gather_infos(infos)

    def step(self, actions: Any) -> StepReturn:
        """Steps all environments; where an episode ended, the infos hold `final_obs` and `final_info`."""
        rows = actions if self._has_plain_actions else iterate(self.action_space, actions)
        results = self._each("step", [(action,) for action in rows])
        obs, rewards, terminations, truncations, infos = zip(*results, strict=True)
        terminated, truncated = np.array((terminations, truncations), np.bool_)
        gathered = with_checked_finals(self, gather_infos(infos)) if any(infos) else {}
        return batch_of(self, obs), numbers_of(rewards, self.num_envs), terminated, truncated, gathered

    def render(self) -> tuple[Any, ...]:
        """Returns the picture of each environment.

        Raises:
            InputError: an environment cannot be rendered.
        """
        return tuple(self._each("render", [()] * self.num_envs))

    @property
    def action_names(self) -> list[str]:
        """Names of the actions, or of the numbers of a continuous action; empty if they have no names."""
        return self._each("action_names", [()] * self.num_envs)[0]  # type: ignore[no-any-return]

    def call(self, name: str, *arguments: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of each environment, or reads an attribute."""
        return tuple(self._each("call", [(name, arguments, kwargs)] * self.num_envs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Reads an attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of each environment, to values from a list or tuple, one each, or all to the same value."""
        if not isinstance(values, list | tuple):
            values = [values] * self.num_envs
        self._each("set_attr", ((name, value) for value in values))

    @abc.abstractmethod
    def _each(self, method: str, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Calls a method of `_Autoreset` for each environment, with separate arguments; returns the results."""


class SerialEnvs(AutoresetEnvs):
    """Environments stepped one after the other in this process.

    Attributes:
        envs: the environments.
    """

    def __init__(self, makers: Sequence[MakeEnv]) -> None:
        self.envs: list[gymnasium.Env[Any, Any]] = []
        with contextlib.ExitStack() as made:
            for make in makers:
                self.envs.append(make())
                made.callback(close_quietly, self.envs[-1])
            self._slots = [_Autoreset(env, i) for i, env in enumerate(self.envs)]
            super().__init__(len(self.envs))
            made.pop_all()

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environments, all of them even if one raises."""
        with contextlib.ExitStack() as closing:
            for env in reversed(self.envs):
                closing.callback(env.close)

    def _each(self, method: str, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        return [getattr(slot, method)(*given) for slot, given in zip(self._slots, arguments, strict=True)]


class ParallelEnvs(AutoresetEnvs):
    """Environments in separate processes, for those whose steps are slow.

    Attributes:
        processes: the processes.
    """

    def __init__(self, makers: Sequence[MakeEnv]) -> None:
        """Starts the processes, which make the environments.

        Raises:
            EnvironmentFailedError: a process died, or an environment raised an error while being made.
        """
        context: Any = multiprocessing.get_context(START_METHOD)
        self.processes: list[Any] = []
        self._pipes: list[Connection] = []
        self._owing: deque[Connection] = deque()  # those that have not answered a command yet
        with program_hidden():
            for i, make in enumerate(makers):
                pipe, far_end = context.Pipe()
                arguments = far_end, CloudpickleWrapper(make), i
                self.processes.append(context.Process(target=_serve, args=arguments, daemon=True, name=f"env-{i}"))
                self._pipes.append(pipe)
                self.processes[-1].start()
                far_end.close()
        try:
            super().__init__(len(makers))
        except BaseException:
            self.close_extras()
            raise

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environments; processes that do not end in time are killed."""
        end = time.monotonic() + CLOSE_SECONDS
        if not self._owing:
            for pipe in self._pipes:
                with contextlib.suppress(OSError):
                    pipe.send(("close", ()))
            for process in self.processes:
                process.join(max(0.0, end - time.monotonic()))
        for process, pipe in zip(self.processes, self._pipes, strict=True):
            process.kill()
            process.join()
            pipe.close()

    def _each(self, method: str, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        with self._deaths_reported():
            self._receive()  # answers to an interrupted command
            for pipe, given in zip(self._pipes, arguments, strict=True):
                pipe.send((method, given))
                self._owing.append(pipe)
            answers = self._receive()
        for i, (error, result) in enumerate(answers):
            if error is InputError:
                raise InputError(result)
            if error is not None:
                raise EnvironmentFailedError(f"environment {i} raised an error in its process:\n{result}")
        return [result for _, result in answers]

    def _receive(self) -> list[tuple[type[Exception] | None, Any]]:
        answers = []
        while self._owing:
            answers.append(self._owing[0].recv())
            self._owing.popleft()
        return answers

    @contextlib.contextmanager
    def _deaths_reported(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            for process in self.processes:
                process.join(0.2)
            dead = [(i, process.exitcode) for i, process in enumerate(self.processes) if process.exitcode is not None]
            reason = ", ".join(f"that of environment {i} with exit code {code}" for i, code in dead) or repr(error)
            raise EnvironmentFailedError(f"a process of an environment died: {reason}.") from error


def gather_infos(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the infos of N environments in the form of gymnasium's vector environments.

    Each name gets an array [N, ...], and `_name` says whose infos have it, [N] bool. Numbers and arrays of equal shapes
    are 0 elsewhere; dicts are gathered likewise; everything else is in an array of objects, with None elsewhere.
    """
    gathered: dict[str, Any] = {}
    for name in dict.fromkeys(name for info in infos for name in info):
        is_given = np.array([name in info for info in infos])
        given = [info[name] for info in infos if name in info]
        if name == MASKS:
            given = list(map(flat_mask, given))  # lists and tuples are accepted too
        if name != "final_obs" and all(isinstance(value, dict) for value in given):
            gathered[name] = gather_infos([info.get(name, {}) for info in infos])
        else:
            gathered[name] = _column(given, is_given, is_object=name == "final_obs")
        gathered[f"_{name}"] = is_given
    return gathered


def _column(given: list[Any], is_given: NDArray[np.bool_], is_object: bool) -> Array:
    kinds = {type(value) for value in given}
    is_numeric = all(kind in (bool, int, float) or issubclass(kind, np.number | np.ndarray) for kind in kinds)
    if is_numeric and not is_object and len({np.shape(value) for value in given}) == 1:
        values = np.array(given)
        column: Array = np.zeros((len(is_given), *values.shape[1:]), values.dtype)
        column[is_given] = values
        return column
    column = np.full(len(is_given), None, object)
    for i, value in zip(np.flatnonzero(is_given), given, strict=True):
        column[i] = value
    return column


class _Autoreset:
    """An environment that is reset in the step in which its episode ends; its masks are added to its infos.

    Raises InputError if `reset` or `step` follows the old gym's interface.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], index: int) -> None:
        self._env = env
        self._index = index
        self._name = type(env.unwrapped).__name__
        self._has_masks = env.has_wrapper_attr(METHOD) and callable(env.get_wrapper_attr(METHOD))
        self._has_statistics = env.has_wrapper_attr("return_queue")  # only RecordEpisodeStatistics has this attribute

    def describe(self) -> CloudpickleWrapper:
        """Returns a `Description`, wrapped for another process: an id may be registered with a lambda."""
        env = self._env
        spaces = env.observation_space, env.action_space
        return CloudpickleWrapper(Description(*spaces, env.metadata, env.render_mode, env.unwrapped.spec))  # type: ignore[arg-type]

    def action_names(self) -> list[str]:
        return own_action_names(self._env.unwrapped)

    def render(self) -> Any:
        return rendered(self._env)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        try:
            result = self._env.reset(seed=seed, options=options)
        except TypeError as error:
            if not OTHER_ARGUMENTS.search(str(error)):
                raise
            raise InputError(f"{error}; gymnasium's is reset(self, *, seed=None, options=None).") from error
        if not (isinstance(result, tuple) and len(result) == 2):
            raise InputError(
                f"{self._name}.reset returned {type_in_words(result)} instead of (observation, info); the old gym's "
                "returned the observation alone, gymnasium's returns both."
            )
        obs, info = result
        return obs, _without_reserved(self._with_mask(info))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        try:
            result = self._env.step(action)
        except (TypeError, ValueError) as error:
            if not (raised_in(error).startswith("gymnasium.wrappers.") and UNPACKED.search(str(error))):
                raise
            raise self._wrong_step(f"other than five values ({error})") from error
        if not isinstance(result, tuple | list) or len(result) != 5:
            raise self._wrong_step(f"{len(result)} values" if isinstance(result, tuple | list) else repr(result))
        obs, reward, terminated, truncated, info = result
        info = self._with_mask(info)
        if not (is_flag(terminated) and is_flag(truncated)):
            raise self._wrong_step(f"terminated {terminated!r}, truncated {truncated!r}")
        terminated, truncated = bool(terminated), bool(truncated)
        if not (terminated or truncated):
            return obs, reward, False, False, _without_reserved(info)
        # Copied before reset, which may overwrite anything that the environment has returned.
        last, reward = {"final_obs": copy.deepcopy(obs), "final_info": _copied(info)}, copy.copy(reward)
        counted = self._counted()
        obs, info = self.reset()
        if counted and "episode" not in last["final_info"] and self._counted()["l"] == 0:
            # The episode was ended outside the wrapper that would have reported it, for instance by a time limit.
            last["final_info"]["episode"] = counted
        return obs, reward, terminated, truncated, last | info

    def _counted(self) -> dict[str, Any]:
        """Returns the episode's return and length so far, if the environment has RecordEpisodeStatistics."""
        names = {"r": "episode_returns", "l": "episode_lengths"} if self._has_statistics else {}
        return {key: self._env.get_wrapper_attr(name) for key, name in names.items()}

    def _wrong_step(self, found: str) -> InputError:
        return InputError(
            f"{self._name}.step returned {found}; gymnasium's returns (observation, reward, terminated, truncated, "
            "info), with True or False for the third and fourth; the old gym's had one done."
        )

    def _with_mask(self, info: Any) -> dict[str, Any]:
        if not isinstance(info, dict):  # before the slower check of any mapping
            check_info(info, self._index)
            info = dict(info)
        own: dict[str, Any] = info
        return {**own, MASKS: self._env.get_wrapper_attr(METHOD)()} if self._has_masks else own

    def call(self, name: str, arguments: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        attribute = self._env.get_wrapper_attr(name)
        return attribute(*arguments, **kwargs) if callable(attribute) else attribute

    def set_attr(self, name: str, value: Any) -> None:
        self._env.set_wrapper_attr(name, value)

    def close(self) -> None:
        self._env.close()


def _without_reserved(info: dict[str, Any]) -> dict[str, Any]:
    if info.keys().isdisjoint(RESERVED):
        return info
    return {name: value for name, value in info.items() if name not in RESERVED}


def _copied(value: Any) -> Any:
    """Copies an info's dicts, lists and arrays; other values may be anything, even what cannot be copied."""
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return copy.copy(value) if isinstance(value, np.ndarray | list) else value


def own_action_names(env: Any) -> list[str]:
    """Returns an environment's names for its actions, as in MinAtar, or those of actuators in MuJoCo's models."""
    if hasattr(env, "get_action_meanings"):
        return [str(name) for name in env.get_action_meanings()]
    model: Any = getattr(env, "model", None)
    return [model.actuator(i).name for i in range(model.nu)] if hasattr(model, "actuator") else []


def _serve(pipe: Connection, make: MakeEnv, index: int) -> None:
    """Serves one environment until it is closed or the other end of the pipe is gone."""
    become_worker()
    slot: _Autoreset | None = None
    method = ""
    with contextlib.suppress(EOFError, OSError):
        while method != "close":
            method, arguments = pipe.recv()
            try:
                slot = slot or _Autoreset(make(), index)
                pipe.send((None, getattr(slot, method)(*arguments)))
            except InputError as error:
                pipe.send((InputError, str(error)))
            except gymnasium.error.DependencyNotInstalled as error:  # when a window is opened
                pipe.send((InputError, f"the environment cannot be shown: {with_own_extra(str(error))}"))
            except Exception as error:
                reason = refusal(error)
                pipe.send((RuntimeError, traceback.format_exc()) if reason is None else (InputError, reason))
