"""What runs at certain moments of a training, under the names of Stable Baselines 2.

There is no callback against numbers that are not finite: training itself refuses such an observation, reward or update,
and names the quantity (`acer_tf.errors.NotFiniteError`).
"""

from acer_tf.callbacks.base import BaseCallback
from acer_tf.callbacks.checkpoint import CheckpointCallback
from acer_tf.callbacks.conversion import CallbackList, ConvertCallback, as_callback
from acer_tf.callbacks.evaluate import EvalCallback, StopTrainingOnRewardThreshold
from acer_tf.callbacks.event import EventCallback, EveryNTimesteps
from acer_tf.callbacks.progress import ProgressBarCallback
from acer_tf.callbacks.video import VideoCallback

__all__ = [
    "BaseCallback",
    "CallbackList",
    "CheckpointCallback",
    "ConvertCallback",
    "EvalCallback",
    "EventCallback",
    "EveryNTimesteps",
    "ProgressBarCallback",
    "StopTrainingOnRewardThreshold",
    "VideoCallback",
    "as_callback",
]
