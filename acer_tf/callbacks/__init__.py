"""Training callbacks, under the names of Stable Baselines 2.

No callback checks for numbers that are not finite: training itself refuses such observations, rewards and updates, and
names the quantity (`acer_tf.errors.NotFiniteError`).
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
