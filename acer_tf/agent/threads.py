"""Threads of TensorFlow, which can be set only before it starts."""

import warnings

import tensorflow as tf


def use_threads(threads: int | None) -> None:
    """Sets the number of threads within and between operations, or warns that it is too late; None does nothing."""
    if threads is None:
        return
    threading = tf.config.threading
    try:
        threading.set_intra_op_parallelism_threads(threads)
        threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError:
        in_use = threading.get_intra_op_parallelism_threads() or "all"
        if in_use != threads:
            warnings.warn(f"TensorFlow has started with {in_use} threads; {threads} are not possible now", stacklevel=3)
