"""TensorFlow's threads and kernels, which are chosen before it is imported."""

import os
import sys

from acer_tf.system.container import cpu_limit

VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""Environment variables that TensorFlow reads when it starts: threads within an operation, and between operations."""
ONEDNN_VARIABLE = "TF_ENABLE_ONEDNN_OPTS"
"""Whether TensorFlow uses its oneDNN kernels; unset, only on processors with neural-network instructions."""
SMALL_THREADS = 2
"""For networks without convolutions."""


def cores() -> int:
    """Counts the processor's cores that this process may use, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, cpu_limit() or count)


def is_for_images(network: str) -> bool:
    """Returns whether a network of this package has convolutions."""
    return any(word in network.lower() for word in ("cnn", "conv"))


def threads_for(network: str) -> int:
    """Returns the threads that suit a network.

    Networks without convolutions get two at most: their operations are too small to be shared among many. With
    convolutions a thread per core is right: while TensorFlow computes, the emulator's processes wait, and the other way
    round.
    """
    return cores() if is_for_images(network) else min(SMALL_THREADS, cores())


def prepare_tensorflow(network: str, threads: int | None = None) -> None:
    """Sets TensorFlow's environment variables, unless TensorFlow has been imported; for commands, not for libraries.

    Networks with convolutions get the oneDNN kernels, which make the nature network's update 1.3 times as fast; others
    do not, as they take longer on a few hundred numbers. Variables that users have set stay as they are.

    Args:
        network: name of the network.
        threads: threads of TensorFlow; None leaves the choice to the variables, where they are set, or to us.
    """
    if "tensorflow" in sys.modules:
        return
    for variable in VARIABLES:
        if threads is not None:
            os.environ[variable] = str(threads)
        else:
            os.environ.setdefault(variable, str(threads_for(network)))
    os.environ.setdefault(ONEDNN_VARIABLE, "1" if is_for_images(network) else "0")


def tensorflow_threads() -> int:
    """Returns the threads within an operation that the environment variables ask for."""
    number = os.environ.get(VARIABLES[0], "")
    return int(number) if number.isdecimal() and int(number) else cores()
