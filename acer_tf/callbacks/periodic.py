"""Callbacks that save, record or show the agent at regular intervals."""

from pathlib import Path
from typing import Any

from acer_tf.callbacks.base import BaseCallback
from acer_tf.envs.adapt import as_vector_env
from acer_tf.evaluation.video import check_rendering, check_video, record_video
from acer_tf.logs.terminal import ProgressSink, progress_sink
from acer_tf.schema import Count, validated
from acer_tf.storage.durable import make_folder
from acer_tf.storage.paths import user_path
from acer_tf.system.console import say


class CheckpointCallback(BaseCallback):
    """Saves the agent as `<save_path>/<name_prefix>_<agent steps>_steps.zip`, every `save_freq` calls of `on_step`.

    Each call is one agent step in every environment: for a file every K agent steps over N environments, set
    `save_freq` to K // N, or use `EveryNTimesteps(K, CheckpointCallback(1, ...))`.
    """

    def __init__(self, save_freq: int, save_path: str | Path, name_prefix: str = "rl_model", verbose: int = 0) -> None:
        """Sets how often the agent is saved, and where."""
        super().__init__(verbose)
        self.save_freq = validated("save_freq", save_freq, Count)
        self.save_path = user_path(save_path)
        self.name_prefix = name_prefix

    def _on_training_start(self) -> None:
        """Refuses a folder that cannot be made before training starts."""
        make_folder(self.save_path)

    def _on_step(self) -> bool:
        if self.n_calls % self.save_freq == 0:
            path = self.save_path / f"{self.name_prefix}_{self.num_timesteps}_steps.zip"
            self.model.save(path)
            if self.verbose:
                say(f"saved {path}")
        return True


class VideoCallback(BaseCallback):
    """Records `<save_path>/<name_prefix>_<agent steps>_steps.mp4` every `save_freq` calls of `on_step`.

    Each call is one agent step in every environment. Every video is played in `env`, which must be made with
    `render_mode="rgb_array"` and not be used for training.
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
        """Sets what is recorded, how often, and where; other arguments are those of `record_video`.

        Raises:
            InputError: an argument is invalid, or there is no ffmpeg.
        """
        super().__init__(verbose)
        self.env = as_vector_env(env)
        self.save_freq = validated("save_freq", save_freq, Count)
        self.save_path = user_path(save_path)
        self.name_prefix = name_prefix
        self.n_episodes = validated("n_episodes", n_episodes, Count)
        self.deterministic = deterministic
        check_video(self._path())

    def _path(self) -> Path:
        return self.save_path / f"{self.name_prefix}_{self.num_timesteps}_steps.mp4"

    def _on_training_start(self) -> None:
        """Refuses an environment that cannot be recorded, or a folder that cannot be made, before training starts."""
        check_rendering(self.env)
        make_folder(self.save_path)

    def _on_step(self) -> bool:
        if self.n_calls % self.save_freq == 0:
            played = record_video(self.model, self.env, self._path(), self.n_episodes, self.deterministic)
            if self.verbose:
                say(f"recorded {self._path()}: returns {', '.join(f'{episode.r:g}' for episode in played)}")
        return True


class ProgressBarCallback(BaseCallback):
    """Shows agent steps, speed and time left: a bar on a terminal, a line every half minute elsewhere."""

    _sink: ProgressSink | None = None

    def _on_training_start(self) -> None:
        self._sink = progress_sink(self.num_timesteps + self.locals["total_timesteps"])

    def _on_rollout_end(self) -> None:
        if self._sink is not None:
            self._sink.progress(self.num_timesteps)

    def _on_training_end(self) -> None:
        if self._sink is not None:
            self._sink.close()
