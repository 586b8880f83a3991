"""Callbacks that make others happen."""

from typing import Any

from acer_tf.callbacks.base import BaseCallback
from acer_tf.callbacks.conversion import as_callback
from acer_tf.config import whole


class EventCallback(BaseCallback):
    """Base class of callbacks that call another one at an event: where `_on_event` is called.

    Attributes:
        callback: the other one; its `n_calls` counts events.
    """

    def __init__(self, callback: Any = None, verbose: int = 0) -> None:
        """Takes whatever `as_callback` takes.

        Raises:
            InputError: it is no callback.
        """
        super().__init__(verbose)
        self.callback = as_callback(callback)

    def init_callback(self, model: Any) -> None:
        """See `BaseCallback`."""
        super().init_callback(model)
        if self.callback is not None:
            if isinstance(self.callback, BaseCallback):
                self.callback.parent = self
            self.callback.init_callback(model)

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """See `BaseCallback`."""
        super().on_training_start(locals_, globals_)
        if self.callback is not None:
            self.callback.on_training_start(locals_, globals_)

    def on_training_end(self) -> None:
        """See `BaseCallback`."""
        super().on_training_end()
        if self.callback is not None:
            self.callback.on_training_end()

    def _on_event(self) -> bool:
        return self.callback is None or self.callback.on_step()


class EveryNTimesteps(EventCallback):
    """Calls another callback as soon as `n_steps` agent steps (over all environments) were made since the last time."""

    def __init__(self, n_steps: int, callback: Any) -> None:
        """Takes the number of agent steps, and whatever `as_callback` takes.

        Raises:
            InputError: `n_steps` cannot work, or it is no callback.
        """
        super().__init__(callback)
        self.n_steps = whole("n_steps", n_steps)
        self.last_time_trigger = 0

    def _on_training_start(self) -> None:
        self.last_time_trigger = self.num_timesteps

    def _on_step(self) -> bool:
        if self.num_timesteps - self.last_time_trigger < self.n_steps:
            return True
        self.last_time_trigger = self.num_timesteps
        return self._on_event()
