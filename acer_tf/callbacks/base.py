"""Callbacks: the base class, conversion of functions and lists, and callbacks that call others."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeGuard

from acer_tf.envs.same_spaces import HasSpaces
from acer_tf.envs.wrappers.single_envs import with_env_methods
from acer_tf.errors import InputError, type_in_words
from acer_tf.evaluation.episodes import Predictor
from acer_tf.schema import Count, validated

Function = Callable[[dict[str, Any], dict[str, Any]], bool | None]

METHODS = ("init_callback", "on_training_start", "on_rollout_start", "on_step", "on_rollout_end", "on_training_end")
"""Methods by which an object is recognised as a callback."""


class Agent(Predictor, HasSpaces, Protocol):
    """The agent being trained, as callbacks see it."""

    num_timesteps: int

    @property
    def logger(self) -> Any:
        """Receives metrics and episodes."""
        ...

    @property
    def seed(self) -> int | None:
        """Seed of its random streams."""
        ...

    def get_env(self) -> Any:
        """Returns the environments in which it is trained."""
        ...

    def save(self, path: str | Path) -> None:
        """Writes the agent to a file."""
        ...


class BaseCallback:
    """Base class of callbacks: override the methods that begin with an underscore.

    `on_step` is called after each step of all environments: `n_calls` counts the calls, `num_timesteps` the agent steps
    over all environments, N per call.

    Attributes:
        model: the agent; None before `learn`, like `training_env` and `logger`.
        training_env: the environments in which it is trained, with Stable Baselines' `get_attr`, `set_attr` and
            `env_method`.
        n_calls: calls of `on_step` so far.
        num_timesteps: agent steps so far, over all environments.
        locals: local variables of the training loop.
        globals: its global variables.
        logger: receives metrics and episodes; `logger.record(name, value)` adds a number to the next row of metrics.
        verbose: 0 prints nothing.
        parent: the callback that calls this one, or None.
    """

    model: Agent = None  # type: ignore[assignment]  # an agent whenever a method is called
    training_env: Any = None
    logger: Any = None
    parent: "BaseCallback | None" = None

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose
        self.n_calls = 0
        self.num_timesteps = 0
        self.locals: dict[str, Any] = {}
        self.globals: dict[str, Any] = {}

    def init_callback(self, model: Agent) -> None:
        """Called once per `learn`, before anything else, with the agent to train."""
        self.model = model
        self.training_env = with_env_methods(model.get_env())
        self.logger = model.logger
        self._init_callback()

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Called before the first rollout, with the variables of the training loop."""
        self.locals, self.globals = locals_, globals_
        self.num_timesteps = self.model.num_timesteps
        self._on_training_start()

    def on_rollout_start(self) -> None:
        """Called before a segment is collected."""
        self._on_rollout_start()

    def on_step(self) -> bool:
        """Called after each step of all environments; False ends training."""
        self.n_calls += 1
        self.num_timesteps = self.model.num_timesteps
        answer = self._on_step()
        return answer is None or bool(answer)

    def on_rollout_end(self) -> None:
        """Called when a segment has been collected, before training on it."""
        self._on_rollout_end()

    def on_training_end(self) -> None:
        """Called when training is over, however it ended."""
        self._on_training_end()

    def _init_callback(self) -> None:
        """Override to act in `init_callback`."""

    def _on_training_start(self) -> None:
        """Override to act in `on_training_start`."""

    def _on_rollout_start(self) -> None:
        """Override to act in `on_rollout_start`."""

    def _on_step(self) -> bool | None:
        """Override to act in `on_step`: False ends training, None does not."""
        return True

    def _on_rollout_end(self) -> None:
        """Override to act in `on_rollout_end`."""

    def _on_training_end(self) -> None:
        """Override to act in `on_training_end`."""


class ConvertCallback(BaseCallback):
    """Calls a function, `callback(locals, globals)`, after each step of all environments; False ends training."""

    def __init__(self, callback: Function, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.callback = callback

    def _on_step(self) -> bool | None:
        return self.callback(self.locals, self.globals)


class CallbackList(BaseCallback):
    """Calls several callbacks in order; training ends after a step in which any of them asks for it.

    It is an `acer_tf.acer.Callback`: the training loop calls the list given to `learn`, which calls the callbacks.

    Attributes:
        callbacks: the callbacks.
    """

    def __init__(self, callbacks: Sequence[Any]) -> None:
        """Makes a callback of each item, which may be anything that `as_callback` takes."""
        super().__init__()
        self._steps_before = 0
        self.callbacks: list[BaseCallback] = [as_callback(one) for one in callbacks if one is not None]

    @classmethod
    def of(cls, callback: Any) -> "CallbackList":
        """Returns the list of the callbacks given to `learn`: one or several."""
        return cls(callback if isinstance(callback, list | tuple) else [callback])

    def on_step(self, step: Mapping[str, Any] = MappingProxyType({})) -> bool:
        """Called after each step of all environments; False ends training.

        Args:
            step: the training loop's variables about the step, which are added to `locals`: `t` is its number within
                the segment, from 1 on.
        """
        if step:
            self.locals.update(step)
            self.model.num_timesteps = self._steps_before + step["t"] * self.training_env.num_envs
        return super().on_step()

    def _init_callback(self) -> None:
        for callback in self.callbacks:
            callback.parent = self.parent
            callback.init_callback(self.model)

    def _on_training_start(self) -> None:
        for callback in self.callbacks:
            callback.on_training_start(self.locals, self.globals)

    def _on_rollout_start(self) -> None:
        self._steps_before = self.model.num_timesteps
        for callback in self.callbacks:
            callback.on_rollout_start()

    def _on_step(self) -> bool:
        # Every callback is called; returning nothing means to go on.
        answers = [callback.on_step() for callback in self.callbacks]
        return all(answer is None or answer for answer in answers)

    def _on_rollout_end(self) -> None:
        for callback in self.callbacks:
            callback.on_rollout_end()

    def _on_training_end(self) -> None:
        for callback in self.callbacks:
            callback.on_training_end()


class EventCallback(BaseCallback):
    """Base class of callbacks that call another one at an event, by calling `_on_event`.

    Attributes:
        callback: the other callback; its `n_calls` counts events.
    """

    def __init__(self, callback: Any = None, verbose: int = 0) -> None:
        """Takes the other callback, which may be anything that `as_callback` takes."""
        super().__init__(verbose)
        self.callback = as_callback(callback)

    def init_callback(self, model: Agent) -> None:
        """Passes the agent on to the other callback, whose parent is this one."""
        super().init_callback(model)
        self.callback.parent = self
        self.callback.init_callback(model)

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Passes the variables on to the other callback."""
        super().on_training_start(locals_, globals_)
        self.callback.on_training_start(locals_, globals_)

    def on_training_end(self) -> None:
        """Ends the other callback too."""
        super().on_training_end()
        self.callback.on_training_end()

    def _on_event(self) -> bool:
        return self.callback.on_step()


class EveryNTimesteps(EventCallback):
    """Calls another callback whenever `n_steps` agent steps (over all environments) have passed since the last call."""

    def __init__(self, n_steps: int, callback: Any) -> None:
        """Sets the number of agent steps, and the callback: anything that `as_callback` takes."""
        super().__init__(callback)
        self.n_steps = validated("n_steps", n_steps, Count)
        self.last_time_trigger = 0

    def _on_training_start(self) -> None:
        self.last_time_trigger = self.num_timesteps

    def _on_step(self) -> bool:
        if self.num_timesteps - self.last_time_trigger < self.n_steps:
            return True
        self.last_time_trigger = self.num_timesteps
        return self._on_event()


def as_callback(callback: Any) -> BaseCallback:
    """Makes a callback of what a user gave.

    Args:
        callback: a callback, or any object with its methods; a function of the training loop's local and global
            variables, which ends training by returning False; None, which does nothing; or a list of these.

    Raises:
        InputError: it is something else.
    """
    if callback is None or isinstance(callback, list | tuple):
        return CallbackList(callback or ())
    if isinstance(callback, type):
        raise InputError(
            f"the callback is the class {callback.__name__}; expected an object of it, such as {callback.__name__}()."
        )
    if _is_callback(callback):
        return callback
    if callable(callback) and _takes_two(callback):
        return ConvertCallback(callback)
    raise InputError(
        f"the callback is {type_in_words(callback)}; expected a BaseCallback, a function of two arguments, a list of "
        "these, or None."
    )


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind({}, {})
    except TypeError:
        return False
    except ValueError:  # a function written in C may not reveal its arguments
        return True
    return True


def _is_callback(callback: Any) -> TypeGuard[BaseCallback]:
    """Returns whether an object has the methods of a callback, with or without the base class."""
    return all(callable(getattr(callback, name, None)) for name in METHODS)
