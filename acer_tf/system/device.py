"""Describes the device that TensorFlow computes on."""

import tensorflow as tf

from acer_tf.system.threads import tensorflow_threads


def device() -> str:
    """Returns the names of the GPUs, if any, and the number of CPU threads per operation, as text."""
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in _gpus()]
    threads = tf.config.threading.get_intra_op_parallelism_threads() or tensorflow_threads()
    cpu = f"CPU, {threads} thread{'s' * (threads != 1)}"
    return ", ".join([*(f"GPU {name}" for name in names), cpu]) if names else f"{cpu} (no GPU found)"


def _gpus() -> list[tf.config.PhysicalDevice]:
    devices: list[tf.config.PhysicalDevice] = tf.config.list_physical_devices("GPU")
    return devices
