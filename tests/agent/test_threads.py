import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import tensorflow as tf

import acer_tf
from acer_tf.agent.threads import use_threads

USE = """
import tensorflow as tf
from acer_tf import ACER
agent = ACER("mlp", "CartPole-v1", n_cpu_tf_sess=1)
print(tf.config.threading.get_intra_op_parallelism_threads(), tf.config.threading.get_inter_op_parallelism_threads())
"""


def test_threads_are_set_before_tensorflow_starts() -> None:
    root = Path(acer_tf.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", USE], check=True, capture_output=True, text=True, cwd=root)
    assert done.stdout.split() == ["1", "1"]


def test_later_it_is_said_that_it_is_too_late() -> None:
    tf.zeros([])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use_threads(None)
    with pytest.warns(UserWarning, match="TensorFlow has started with .* threads; 63 are not possible now"):
        use_threads(63)
