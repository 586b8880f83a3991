"""Measurements of speed and memory; run as `python -m benchmarks.<name>`."""

from acer_tf.system.compute import keep_freed_memory, prepare_tensorflow


def prepare(network: str) -> None:
    """Sets TensorFlow's threads and kernels and the allocator as the training commands do; before TensorFlow's import.

    Args:
        network: name of the network.
    """
    prepare_tensorflow(network)
    keep_freed_memory()
