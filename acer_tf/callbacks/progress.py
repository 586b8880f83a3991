"""Shows how far training is."""

from acer_tf.callbacks.base import BaseCallback
from acer_tf.logs.terminal import ProgressSink, progress_sink


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
