"""ACER (sample-efficient actor-critic with experience replay) for TensorFlow 2 and Keras 3.

`ACER`, `learn` and `register` are imported on first use, so that `import acer_tf` stays cheap and needs no TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acer_tf.agent import ACER
    from acer_tf.learning import learn
    from acer_tf.networks.registry import register

__version__ = "0.2.0"
__all__ = ["ACER", "__version__", "learn", "register"]

_HOME = {"ACER": "acer_tf.agent", "learn": "acer_tf.learning", "register": "acer_tf.networks.registry"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
