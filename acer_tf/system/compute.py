"""Computing resources of this process: its cores, and TensorFlow's threads, kernels, memory and devices."""

import ctypes
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from acer_tf.system.console import counted
from acer_tf.system.container import cpu_limit

VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""Environment variables that TensorFlow reads at start: threads within an operation, and between operations."""
ONEDNN_VARIABLE = "TF_ENABLE_ONEDNN_OPTS"
"""Whether TensorFlow uses its oneDNN kernels; if unset, only on processors with neural-network instructions."""
SMALL_IMAGES = "cnn_minatar"
"""The network whose convolutions are as small as other networks' dense layers."""
CPU_INFO = Path("/proc/cpuinfo")
BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""Processor flags for bfloat16 instructions, as Linux names them; the last is ARM's."""
# Parameters of mallopt(3).
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


def cores() -> int:
    """Returns the number of cores that this process may use, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, cpu_limit() or count)


def is_for_images(network: str) -> bool:
    """Returns whether a network of this package has convolutions, as networks of several inputs may."""
    return any(word in network.lower() for word in ("cnn", "conv", "multiinput"))


def threads_for(network: str) -> tuple[int, int]:
    """Returns the threads within an operation, and the number of operations at a time, that suit a network.

    Small operations take longer if divided among threads, but whole operations can run side by side, such as those of
    policy and average policy. Convolutions of Atari images get a thread per core, since the emulators' processes wait
    while TensorFlow computes, and vice versa.
    """
    is_small = not is_for_images(network) or network.lower() == SMALL_IMAGES
    return (1, min(2, cores())) if is_small else (cores(), cores())


def prepare_tensorflow(network: str, threads: int | None = None) -> None:
    """Sets TensorFlow's environment variables, unless TensorFlow has been imported; for commands, not for libraries.

    Networks with convolutions get the oneDNN kernels, which make the nature network's update 1.3 times as fast; others
    do not, as these kernels are slower on a few hundred numbers. It keeps variables that users have set.

    Args:
        network: name of the network.
        threads: TensorFlow's threads; None takes the variables' values if set, else those of `threads_for`.
    """
    if "tensorflow" in sys.modules:
        return
    for variable, suited in zip(VARIABLES, threads_for(network), strict=True):
        if threads is not None:
            os.environ[variable] = str(threads)
        else:
            os.environ.setdefault(variable, str(suited))
    os.environ.setdefault(ONEDNN_VARIABLE, "1" if is_for_images(network) else "0")


def tensorflow_threads() -> int:
    """Returns the threads within an operation that the environment variables set."""
    return _number(VARIABLES[0])


def keep_freed_memory() -> None:
    """Makes the allocator reuse freed memory instead of returning it to the system.

    Every update allocates and frees the same large tensors. By default, glibc maps each of them afresh, and the page
    faults cost more than the arithmetic: a cast of 320 stacks of frames took 37 ms instead of 3 ms. With other C
    libraries, nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # A glibc that refuses such a high threshold keeps its own rule, which the other parameters would only disable.
    if mallopt is not None and mallopt(_M_MMAP_THRESHOLD, 1 << 30):
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(_M_TOP_PAD, 1 << 28)


def device() -> str:
    """Returns the names of the GPUs, if any, and the number of CPU threads, as text."""
    import tensorflow as tf

    names = gpu_names()
    within = tf.config.threading.get_intra_op_parallelism_threads() or tensorflow_threads()
    threads = max(within, tf.config.threading.get_inter_op_parallelism_threads() or _number(VARIABLES[1]))
    cpu = f"CPU, {counted(threads, 'thread')}"
    return ", ".join([*(f"GPU {name}" for name in names), cpu]) if names else f"{cpu} (no GPU found)"


def gpu_names() -> list[str]:
    """Returns the names of the GPUs that TensorFlow finds."""
    import tensorflow as tf

    return [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in _gpus()]


def bfloat16_slowdown() -> int:
    """Returns roughly how many times slower convolutions are in bfloat16 than in float32; 1 if they are faster.

    Without bfloat16 instructions, oneDNN emulates them with AVX-512; without AVX-512, only TensorFlow's plain kernels
    are left (docs/performance.md).
    """
    flags = processor_flags()
    if _gpus() or flags & BFLOAT16_FLAGS:
        return 1
    return 2 if "avx512f" in flags else 8


def processor_name() -> str:
    """Returns the model of the processor on Linux, elsewhere its architecture."""
    name = re.search(r"^model name\s*:\s*(.*\S)", _cpu_info(), re.MULTILINE)
    return name[1] if name else platform.machine()


def processor_flags() -> set[str]:
    """Returns the flags of the processor's instructions, as Linux names them, or none on other systems."""
    lists: list[str] = re.findall(r"^(?:flags|Features)\s*:(.*)$", _cpu_info(), re.MULTILINE)
    return {flag for flags in lists[:1] for flag in flags.split()}


def _number(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() and int(text) else cores()


def _cpu_info() -> str:
    try:
        return CPU_INFO.read_text(encoding="utf-8")
    except OSError:  # only Linux has it
        return ""


def _gpus() -> list[Any]:
    import tensorflow as tf

    devices: list[Any] = tf.config.list_physical_devices("GPU")
    return devices
