"""ACER (sample-efficient actor-critic with experience replay) for TensorFlow 2 and Keras 3.

`ACER`, `learn` and `register` are imported on first use, so `import acer_tf` is cheap and does not need TensorFlow.
Importing this package also selects Keras' TensorFlow backend, whatever KERAS_BACKEND says, unless Keras has been
imported already.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from acer_tf.errors import InputError
from acer_tf.system.interrupts import end_on_interrupt

if TYPE_CHECKING:
    from acer_tf.agent import ACER
    from acer_tf.learning import learn
    from acer_tf.networks.registry import register

__version__ = "0.3.0.dev0"
__all__ = ["ACER", "__version__", "learn", "quiet", "register"]

_HOME = {"ACER": "acer_tf.agent", "learn": "acer_tf.learning", "register": "acer_tf.networks.registry"}


if sys.argv[:1] == ["-m"]:  # `python -m acer_tf.run`, which is being located
    end_on_interrupt()
if "keras" not in sys.modules:
    os.environ["KERAS_BACKEND"] = "tensorflow"
elif (backend := sys.modules["keras"].config.backend()) != "tensorflow":
    raise InputError(
        f"Keras has been imported with the backend {backend}, but acer_tf is for TensorFlow; import acer_tf before "
        "keras, or set KERAS_BACKEND=tensorflow."
    )


def quiet() -> None:
    """Imports TensorFlow without its startup messages, for use at the top of scripts and notebooks.

    It hides hints and complaints about missing graphics processors, but not errors. Call it before anything else
    imports TensorFlow, as later they have been printed already. The environment variable TF_CPP_MIN_LOG_LEVEL=0 shows
    everything, as in the commands.
    """
    from acer_tf.system.tensorflow_import import quiet_tensorflow

    with quiet_tensorflow(is_command=False):
        import tensorflow  # noqa: F401


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
