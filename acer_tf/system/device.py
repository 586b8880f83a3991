"""Describes the device that TensorFlow computes on."""

import re
from pathlib import Path

import tensorflow as tf

from acer_tf.system.threads import tensorflow_threads

CPU_INFO = Path("/proc/cpuinfo")
BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""Flags of processors with bfloat16 instructions, as Linux names them; the last is ARM's."""


def device() -> str:
    """Returns the names of the GPUs, if any, and the number of CPU threads per operation, as text."""
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in _gpus()]
    threads = tf.config.threading.get_intra_op_parallelism_threads() or tensorflow_threads()
    cpu = f"CPU, {threads} thread{'s' * (threads != 1)}"
    return ", ".join([*(f"GPU {name}" for name in names), cpu]) if names else f"{cpu} (no GPU found)"


def bfloat16_slowdown() -> int:
    """Returns how many times as long as in float32 convolutions take in bfloat16, roughly; 1 where they take less.

    Without instructions for bfloat16, oneDNN emulates them by those of AVX-512; without these, only TensorFlow's plain
    kernels are left (docs/performance.md).
    """
    flags = _processor_flags()
    if _gpus() or flags & BFLOAT16_FLAGS:
        return 1
    return 2 if "avx512f" in flags else 8


def _processor_flags() -> set[str]:
    text = CPU_INFO.read_text(encoding="utf-8") if CPU_INFO.exists() else ""
    lists: list[str] = re.findall(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return {flag for flags in lists[:1] for flag in flags.split()}


def _gpus() -> list[tf.config.PhysicalDevice]:
    devices: list[tf.config.PhysicalDevice] = tf.config.list_physical_devices("GPU")
    return devices
