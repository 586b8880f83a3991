import os

import tensorflow as tf

from acer_tf.device import device


def test_names_the_graphics_processors_or_counts_threads() -> None:
    if tf.config.list_physical_devices("GPU"):
        assert device().startswith("GPU ")
    else:
        assert device() == f"CPU, {os.cpu_count()} threads (no GPU found)"
