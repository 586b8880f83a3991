"""Makes one callback of whatever the user has."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard

from acer_tf.callbacks.base import Agent, BaseCallback
from acer_tf.errors import InputError

Function = Callable[[dict[str, Any], dict[str, Any]], bool | None]

_HOOKS = ("init_callback", "on_training_start", "on_rollout_start", "on_step", "on_rollout_end", "on_training_end")


class Callback(Protocol):
    """What training calls; `BaseCallback` says when."""

    def init_callback(self, model: Agent) -> None:
        """Says which agent is trained."""
        ...

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Training begins."""
        ...

    def on_rollout_start(self) -> None:
        """A segment begins."""
        ...

    def on_step(self) -> bool:
        """All environments were stepped; False ends training."""
        ...

    def on_rollout_end(self) -> None:
        """A segment was collected."""
        ...

    def on_training_end(self) -> None:
        """Training is over."""
        ...


class ConvertCallback(BaseCallback):
    """Calls a function, `callback(locals, globals)`, after each step of all environments; False ends training."""

    def __init__(self, callback: Function, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.callback = callback

    def _on_step(self) -> bool | None:
        return self.callback(self.locals, self.globals)


class CallbackList(BaseCallback):
    """Calls several callbacks, in their order; training ends after a step in which any of them said so.

    Attributes:
        callbacks: the callbacks.
    """

    def __init__(self, callbacks: Sequence[Any]) -> None:
        """Takes whatever `as_callback` takes.

        Raises:
            InputError: one of them is no callback.
        """
        super().__init__()
        self.callbacks: list[Callback] = [made for one in callbacks if (made := as_callback(one)) is not None]

    def _init_callback(self) -> None:
        for callback in self.callbacks:
            if isinstance(callback, BaseCallback):
                callback.parent = self.parent
            callback.init_callback(self.model)

    def _on_training_start(self) -> None:
        for callback in self.callbacks:
            callback.on_training_start(self.locals, self.globals)

    def _on_rollout_start(self) -> None:
        for callback in self.callbacks:
            callback.on_rollout_start()

    def _on_step(self) -> bool:
        return all([callback.on_step() for callback in self.callbacks])

    def _on_rollout_end(self) -> None:
        for callback in self.callbacks:
            callback.on_rollout_end()

    def _on_training_end(self) -> None:
        for callback in self.callbacks:
            callback.on_training_end()


def as_callback(callback: Any) -> Callback | None:
    """Makes a callback of what `learn` was given; None stays None, so that nothing is called where nothing is wanted.

    Args:
        callback: None, a callback, a function of the training loop's local and global variables (False ends training),
            or a list of these.

    Raises:
        InputError: it is something else.
    """
    if callback is None:
        return None
    if isinstance(callback, list | tuple):
        return CallbackList(callback)
    if isinstance(callback, type):
        raise InputError(
            f"the callback is the class {callback.__name__}; expected an object of it, such as {callback.__name__}()."
        )
    if _is_callback(callback):
        return callback
    if callable(callback) and _takes_two(callback):
        return ConvertCallback(callback)
    raise InputError(
        f"the callback is a {type(callback).__name__}; expected a BaseCallback, a function of two arguments, a list of "
        "these, or None."
    )


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind({}, {})
    except TypeError:
        return False
    except ValueError:  # what is written in C may say nothing of its arguments
        return True
    return True


def _is_callback(callback: Any) -> TypeGuard[Callback]:
    return all(callable(getattr(callback, hook, None)) for hook in _HOOKS)
