"""What TensorFlow computes on."""

import os

import tensorflow as tf


def device() -> str:
    """Names the graphics processors, or says that there is none and how many threads the processor's cores run."""
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in _gpus()]
    if names:
        return ", ".join(f"GPU {name}" for name in names)
    threads = tf.config.threading.get_intra_op_parallelism_threads() or os.cpu_count()
    return f"CPU, {threads} threads (no GPU found)"


def _gpus() -> list[tf.config.PhysicalDevice]:
    devices: list[tf.config.PhysicalDevice] = tf.config.list_physical_devices("GPU")
    return devices
