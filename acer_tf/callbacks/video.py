"""Records the agent now and then."""

from pathlib import Path
from typing import Any

from acer_tf.callbacks.base import BaseCallback
from acer_tf.config import whole
from acer_tf.envs.make import as_vector_env
from acer_tf.evaluation.video import check_rendering, check_video, record_video
from acer_tf.system.console import say


class VideoCallback(BaseCallback):
    """Records `<save_path>/<name_prefix>_<agent steps>_steps.mp4` every `save_freq` calls of `on_step`.

    Each call is as many agent steps as there are environments. Every video plays in `env`, one made with
    `render_mode="rgb_array"` and none of those that are trained on.
    """

    def __init__(
        self,
        env: Any,
        save_freq: int,
        save_path: str | Path,
        name_prefix: str = "rl_video",
        n_episodes: int = 1,
        deterministic: bool = True,
        verbose: int = 0,
    ) -> None:
        """Says of what, how often, where and how; see `record_video`.

        Raises:
            InputError: an argument cannot work, or there is no ffmpeg.
        """
        super().__init__(verbose)
        self.env = as_vector_env(env)
        self.save_freq = whole("save_freq", save_freq)
        self.save_path = Path(save_path)
        self.name_prefix = name_prefix
        self.n_episodes = whole("n_episodes", n_episodes)
        self.deterministic = deterministic
        check_video(self._path())

    def _path(self) -> Path:
        return self.save_path / f"{self.name_prefix}_{self.num_timesteps}_steps.mp4"

    def _on_training_start(self) -> None:
        """Raises InputError: the environment cannot be recorded; said now, not in the middle of training."""
        check_rendering(self.env)

    def _on_step(self) -> bool:
        if self.n_calls % self.save_freq == 0:
            played = record_video(self.model, self.env, self._path(), self.n_episodes, self.deterministic)
            if self.verbose:
                say(f"recorded {self._path()}: returns {', '.join(f'{episode.r:g}' for episode in played)}")
        return True
