"""Between the training loop and the user's callbacks."""

from typing import Any, Protocol

from acer_tf.callbacks.conversion import Callback


class Counted(Protocol):
    """An agent that counts agent steps."""

    num_timesteps: int
    n_envs: int


class CallbackHooks:
    """Tells a callback of the loop's steps; what a step gave appears among the local variables that it was given."""

    def __init__(self, callback: Callback, agent: Counted, variables: dict[str, Any]) -> None:
        """Takes the callback, the agent and the local variables, which `on_step` goes on to fill."""
        self._callback = callback
        self._agent = agent
        self._variables = variables
        self._before = agent.num_timesteps

    def on_rollout_start(self) -> None:
        """See `acer_tf.acer.Hooks`."""
        self._before = self._agent.num_timesteps
        self._callback.on_rollout_start()

    def on_step(self, step: dict[str, Any]) -> bool:
        """See `acer_tf.acer.Hooks`."""
        self._variables.update(step)
        self._agent.num_timesteps = self._before + step["t"] * self._agent.n_envs
        return self._callback.on_step()

    def on_rollout_end(self) -> None:
        """See `acer_tf.acer.Hooks`."""
        self._callback.on_rollout_end()
