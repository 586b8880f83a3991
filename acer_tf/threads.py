"""How many threads TensorFlow gets, decided before it starts."""

import os
import sys

VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""Environment variables that TensorFlow reads when it starts: threads within an operation, and between operations."""
SMALL_THREADS = 2
"""For networks without convolutions."""


def cores() -> int:
    """Counts the processor's cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_for_images(network: str) -> bool:
    """Tells whether a network of this package has convolutions."""
    return any(word in network.lower() for word in ("cnn", "conv"))


def choose_threads(network: str, threads: int | None) -> None:
    """Sets TensorFlow's environment variables, if TensorFlow is not there yet.

    Networks without convolutions get two threads at most: their operations are too small to be shared among many.
    Others get what TensorFlow takes by itself, a thread per core: while it computes, the emulator's processes wait, and
    the other way round.

    Args:
        network: name of the network.
        threads: what the user wants; None leaves the choice to the variables, where they are set, or to us.
    """
    if "tensorflow" in sys.modules:
        return
    for variable in VARIABLES:
        if threads is not None:
            os.environ[variable] = str(threads)
        elif not is_for_images(network):
            os.environ.setdefault(variable, str(min(SMALL_THREADS, cores())))


def tensorflow_threads() -> int:
    """Returns the threads within an operation, as the environment variables have them."""
    number = os.environ.get(VARIABLES[0], "")
    return int(number) if number.isdecimal() and int(number) else cores()
