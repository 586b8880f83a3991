"""Callbacks of training, under the names of Stable Baselines 2.

There is no callback against numbers that are not finite: training itself refuses such an observation, reward or update,
and names the quantity (`acer_tf.errors.NotFiniteError`).
"""

from acer_tf.callbacks.base import (
    BaseCallback,
    CallbackList,
    ConvertCallback,
    EventCallback,
    EveryNTimesteps,
    as_callback,
)
from acer_tf.callbacks.evaluate import EvalCallback, StopTrainingOnRewardThreshold
from acer_tf.callbacks.periodic import CheckpointCallback, ProgressBarCallback, VideoCallback

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
