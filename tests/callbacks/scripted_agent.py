"""An agent whose training is a script, so that what callbacks see is known."""

from pathlib import Path
from typing import Any

import numpy as np

from acer_tf.callbacks import as_callback
from tests.counter import Counter


class ScriptedAgent:
    """Steps nothing: counts. In evaluation it takes action `skill(num_timesteps)`, as in `Counter`."""

    observation_space, action_space = Counter.observation_space, Counter.action_space

    def __init__(
        self, nenvs: int = 2, nsteps: int = 5, seed: int | None = 0, skill: dict[int, float] | None = None
    ) -> None:
        self.nenvs, self.nsteps, self.seed, self.skill = nenvs, nsteps, seed, skill or {}
        self.num_timesteps = 0
        self.logger = object()
        self.env = object()

    def get_env(self) -> Any:
        return self.env

    def predict(self, observation: Any, state: Any = None, mask: Any = None, deterministic: bool = False) -> Any:
        return np.full(len(observation), self.skill.get(self.num_timesteps, 0)), None

    def save(self, path: str | Path) -> None:
        Path(path).write_text(str(self.num_timesteps))

    def learn(self, rollouts: int, callback: Any) -> None:
        callback = as_callback(callback)
        callback.init_callback(self)
        callback.on_training_start({"self": self, "total_timesteps": rollouts * self.nsteps * self.nenvs}, {"g": 1})
        self._train(rollouts, callback)
        callback.on_training_end()

    def _train(self, rollouts: int, callback: Any) -> None:
        for _ in range(rollouts):
            callback.on_rollout_start()
            for _ in range(self.nsteps):
                self.num_timesteps += self.nenvs
                if not callback.on_step():
                    return
            callback.on_rollout_end()
