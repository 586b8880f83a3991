"""Reports the hardware and software that matter to this package, and what is missing: `acer doctor`."""

import ctypes.util
import dataclasses
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acer_tf import __version__
from acer_tf.cli.command import command
from acer_tf.envs.rendering import WITHOUT_DISPLAY, has_display
from acer_tf.errors import install, is_installed
from acer_tf.system.compute import bfloat16_slowdown, cores, gpu_names, processor_flags, processor_name
from acer_tf.system.console import in_bytes, say
from acer_tf.system.container import free_memory
from acer_tf.system.provenance import commit
from acer_tf.system.tensorflow_import import quiet_tensorflow

KERNELS = {"amx_tile": "AMX", "avx512f": "AVX-512", "avx2": "AVX2", "asimd": "Neon"}
"""Processor flags for instructions that make TensorFlow's kernels much faster, the fastest first."""


class Extra(NamedTuple):
    """An extra of setup.py that users install.

    Attributes:
        modules: the modules it installs that this package imports.
        purpose: the features that need it.
    """

    modules: Sequence[str]
    purpose: str


EXTRAS = {
    "plots": Extra(("jinja2", "matplotlib", "scipy"), "plots and reports"),
    "video": Extra(("imageio", "imageio_ffmpeg", "pygame"), "videos, windows of classic tasks"),
    "box2d": Extra(("Box2D",), "LunarLander, BipedalWalker"),
    "mujoco": Extra(("mujoco",), "HalfCheetah and other robots"),
    "dm-control": Extra(("dm_control", "shimmy"), "DeepMind's control suite"),
    "minatar": Extra(("minatar",), "MinAtar's games"),
    "minari": Extra(("minari", "h5py"), "Minari's datasets, to pretrain"),
    "onnx": Extra(("tf2onnx",), "export as ONNX"),
    "ray": Extra(("ray", "optuna"), "clusters, and searches"),
    "hub": Extra(("huggingface_hub",), "publishing and fetching"),
    "wandb": Extra(("wandb",), "Weights & Biases"),
    "notebooks": Extra(("ipykernel", "jupyter", "matplotlib"), "the notebooks"),
    "sb3": Extra(("stable_baselines3",), "Stable-Baselines3's VecEnvs"),
}


class Finding(NamedTuple):
    """A line of the output.

    Attributes:
        name: subject of the line.
        text: what was found.
        advice: what to do if something is missing, else empty.
    """

    name: str
    text: str
    advice: str = ""


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Reports the hardware and software that matter to this package, with advice where something is missing."""

    def show(self) -> None:
        """Prints a line for each finding; imports TensorFlow, which takes seconds."""
        for name, text, advice in (*_software(), *_hardware(), *_rendering(), *_extras()):
            say(f"{'--' if advice else 'ok'}  {name:10}  {text}{': ' * bool(text and advice)}{advice}")


def _software() -> Iterator[Finding]:
    origin = commit()
    yield Finding("acer_tf", __version__ + (f", commit {origin}" if origin else ""))
    yield Finding("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    with quiet_tensorflow():
        import tensorflow as tf
    yield Finding("tensorflow", f"{tf.__version__}, Keras {importlib.metadata.version('keras')}")


def _hardware() -> Iterator[Finding]:
    yield Finding("processor", f"{processor_name()}, {cores()} of {os.cpu_count()} cores")
    yield Finding("memory", f"{in_bytes(free_memory())} free")
    flags = processor_flags()
    kernels = next((name for flag, name in KERNELS.items() if flag in flags), "")
    yield Finding("kernels", kernels or "plain", "" if kernels or not flags else "images train several times as slowly")
    slowdown = bfloat16_slowdown()
    slow = f"it takes {slowdown} times as long; keep --precision float32"
    yield Finding("bfloat16", "" if slowdown > 1 else "for images: --precision bfloat16", slow if slowdown > 1 else "")
    gpus = ", ".join(gpu_names())
    yield Finding("gpu", gpus or "none", "" if gpus else f"NVIDIA's needs {install('gpu')}")


def _rendering() -> Iterator[Finding]:
    display = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or "there is one"
    missing = "" if has_display() else "acer enjoy RUN --video writes a video"
    yield Finding("display", "none" if missing else display, missing)
    if sys.platform.startswith("linux"):
        libraries = ", ".join(filter(ctypes.util.find_library, WITHOUT_DISPLAY.values()))
        yield Finding("opengl", libraries or "none", "" if libraries else "MuJoCo's videos need libegl1 or libosmesa6")


def _extras() -> Iterator[Finding]:
    for name, extra in EXTRAS.items():
        is_there = all(map(is_installed, extra.modules))
        yield Finding(name, extra.purpose, "" if is_there else install(name))


main = command("acer_tf.doctor", Doctor, Doctor.show)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
