"""Saves the agent now and then."""

from pathlib import Path

from acer_tf.callbacks.base import BaseCallback
from acer_tf.config import whole
from acer_tf.system.console import say


class CheckpointCallback(BaseCallback):
    """Saves the agent as `<save_path>/<name_prefix>_<agent steps>_steps.zip`, every `save_freq` calls of `on_step`.

    Each call is as many agent steps as there are environments: for a file every K agent steps of N environments,
    `save_freq` is K // N, or the callback goes into `EveryNTimesteps(K, CheckpointCallback(1, ...))`.
    """

    def __init__(self, save_freq: int, save_path: str | Path, name_prefix: str = "rl_model", verbose: int = 0) -> None:
        """Says how often, and where.

        Raises:
            InputError: `save_freq` cannot work.
        """
        super().__init__(verbose)
        self.save_freq = whole("save_freq", save_freq)
        self.save_path = Path(save_path)
        self.name_prefix = name_prefix

    def _on_step(self) -> bool:
        if self.n_calls % self.save_freq == 0:
            self.save_path.mkdir(parents=True, exist_ok=True)
            path = self.save_path / f"{self.name_prefix}_{self.num_timesteps}_steps.zip"
            self.model.save(path)
            if self.verbose:
                say(f"saved {path}")
        return True
