"""How TensorFlow is to use the processor, decided before it starts: how many threads, and which kernels."""

import os
import sys

from acer_tf import GIVEN_ONEDNN, ONEDNN_VARIABLE
from acer_tf.system.container import cpu_limit

VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""Environment variables that TensorFlow reads when it starts: threads within an operation, and between operations."""
SMALL_THREADS = 2
"""For networks without convolutions."""


def cores() -> int:
    """Counts the processor's cores that this process may use, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, cpu_limit() or count)


def is_for_images(network: str) -> bool:
    """Tells whether a network of this package has convolutions."""
    return any(word in network.lower() for word in ("cnn", "conv"))


def threads_for(network: str) -> int:
    """Returns the threads that suit a network.

    Networks without convolutions get two at most: their operations are too small to be shared among many. With
    convolutions a thread per core is right: while TensorFlow computes, the emulator's processes wait, and the other way
    round.
    """
    return cores() if is_for_images(network) else min(SMALL_THREADS, cores())


def prepare_tensorflow(network: str, threads: int | None = None) -> None:
    """Sets TensorFlow's environment variables, if TensorFlow is not there yet.

    Its oneDNN kernels are left to networks with convolutions: on a few hundred numbers they take longer than the plain
    ones. Where users say what they want of them, it stays so.

    Args:
        network: name of the network.
        threads: what the user wants; None leaves the choice to the variables, where they are set, or to us.
    """
    if "tensorflow" in sys.modules:
        return
    for variable in VARIABLES:
        if threads is not None:
            os.environ[variable] = str(threads)
        else:
            os.environ.setdefault(variable, str(threads_for(network)))
    if GIVEN_ONEDNN is None:
        os.environ[ONEDNN_VARIABLE] = "1" if is_for_images(network) else "0"


def environment_of_trials() -> dict[str, str]:
    """Returns the environment variables for a process that is to choose its kernels itself, unless the user has."""
    ours = ONEDNN_VARIABLE if GIVEN_ONEDNN is None else None
    return {name: value for name, value in os.environ.items() if name != ours}


def tensorflow_threads() -> int:
    """Returns the threads within an operation, as the environment variables have them."""
    number = os.environ.get(VARIABLES[0], "")
    return int(number) if number.isdecimal() and int(number) else cores()
