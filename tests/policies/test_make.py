import keras
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Discrete
from numpy.random import RandomState

from acer_tf.config import CONTINUOUS
from acer_tf.policies.make import make_policy


@pytest.mark.parametrize("network", ["cnn_minatar", "impala_cnn"])
def test_settings_of_keras_change_nothing(network: str) -> None:
    obs = np.random.default_rng(0).integers(0, 256, (2, 10, 10, 3)).astype(np.uint8)

    def explained() -> list[tf.Tensor]:
        spaces = Box(0, 255, (10, 10, 3), np.uint8), Discrete(3)
        policy = make_policy(network, *spaces, RandomState(0), 0, CONTINUOUS, "float32")
        return list(policy.explain(obs, tf.zeros([2, 0]), tf.zeros([2], tf.bool)))

    expected = explained()
    keras.config.set_floatx("float64")
    keras.config.set_image_data_format("channels_first")
    keras.config.set_dtype_policy("float64")
    try:
        for ours, theirs in zip(explained(), expected, strict=True):
            assert ours.dtype == tf.float32
            np.testing.assert_array_equal(ours, theirs)
        assert keras.config.floatx() == keras.config.dtype_policy().name == "float64"
        assert keras.config.image_data_format() == "channels_first"
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_image_data_format("channels_last")
        keras.config.set_dtype_policy("float32")
