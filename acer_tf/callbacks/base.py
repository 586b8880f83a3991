"""The base class of callbacks."""

from pathlib import Path
from typing import Any, Protocol

from acer_tf.evaluation.episodes import Predictor


class Agent(Predictor, Protocol):
    """What callbacks need of the agent that is trained."""

    num_timesteps: int
    logger: Any

    @property
    def seed(self) -> int | None:
        """Seed of its random streams."""
        ...

    def get_env(self) -> Any:
        """Returns the environments that it is trained on."""
        ...

    def save(self, path: str | Path) -> None:
        """Writes it to a file."""
        ...


class BaseCallback:
    """Base class of callbacks: override the methods that begin with an underscore.

    `on_step` comes after each step of all environments: `n_calls` counts these, `num_timesteps` the agent steps of all
    environments together, which are as many times more as there are environments.

    Attributes:
        model: the agent.
        training_env: the environments that it is trained on.
        n_calls: calls of `on_step` so far.
        num_timesteps: agent steps so far, over all environments.
        locals: local variables of the training loop.
        globals: its global variables.
        logger: takes statistics and episodes.
        verbose: 0 says nothing.
        parent: the callback that this one belongs to, None if there is none.
    """

    model: Agent
    training_env: Any
    logger: Any
    parent: "BaseCallback | None" = None

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose
        self.n_calls = 0
        self.num_timesteps = 0
        self.locals: dict[str, Any] = {}
        self.globals: dict[str, Any] = {}

    def init_callback(self, model: Agent) -> None:
        """Says which agent is trained; called once per `learn`, before anything else."""
        self.model = model
        self.training_env = model.get_env()
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
        """Comes with `init_callback`."""

    def _on_training_start(self) -> None:
        """Comes with `on_training_start`."""

    def _on_rollout_start(self) -> None:
        """Comes with `on_rollout_start`."""

    def _on_step(self) -> bool | None:
        """Comes with `on_step`; False ends training, nothing counts as True."""
        return True

    def _on_rollout_end(self) -> None:
        """Comes with `on_rollout_end`."""

    def _on_training_end(self) -> None:
        """Comes with `on_training_end`."""
