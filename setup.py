"""Packaging; requirements stand in requirements.txt, the version in acer_tf/__init__.py."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent

INIT = (ROOT / "acer_tf" / "__init__.py").read_text(encoding="utf-8")
(VERSION,) = re.findall(r'^__version__ = "(.+)"$', INIT, flags=re.MULTILINE)
BASE, _, FOR_TESTS = (ROOT / "requirements.txt").read_text(encoding="utf-8").partition("# For the tests:")


def requirements(text: str) -> list[str]:
    """Returns the lines that name a package."""
    return [line for line in text.splitlines()[1:] if not line.startswith("#")]


PLOTS = ["jinja2", "matplotlib", "scipy"]
BENCHMARKS = ["scipy", "joblib"]  # baselines imports joblib
MUJOCO = ["gymnasium[mujoco]", "mujoco>=3.17,<4"]  # as the control suite wants it, and as the tests run it
BOX2D = ["gymnasium[box2d]"]
BEFORE_313 = '; python_version < "3.13"'  # labmaze, which the control suite needs, has no wheels for Python 3.13
DM_CONTROL = [f"dm-control{BEFORE_313}", f"shimmy{BEFORE_313}", *MUJOCO]
RUN_NOTEBOOKS = ["ipykernel", "ipywidgets", "nbclient>=0.10"]
NOTEBOOKS = [*PLOTS, *RUN_NOTEBOOKS, "jupyter"]
VIDEO = ["gymnasium[classic-control]", "imageio", "imageio-ffmpeg"]  # the former brings pygame
GPU = ["tensorflow[and-cuda]"]
MINATAR = ["MinAtar==1.0.15"]
HUB = ["huggingface_hub"]
WANDB = ["wandb"]
MINARI = ["minari[hdf5]"]  # its files are HDF5, but h5py is an extra of its own
ONNX = ["tf2onnx>=1.17"]  # the first with numpy 2 and a current protobuf
RAY = ["ray[default]>=2.60", "optuna>=5"]
SB3 = ["stable-baselines3"]  # brings PyTorch, 3 GB with CUDA: not in TEST; what is tested with it is skipped without
# ruff wraps the signatures of the API pages.
DOCS = ["mkdocs<2", "mkdocs-material", "mkdocstrings[python]", "nbconvert", "latex2mathml", "ruff"]
AUDIT = ["pip-audit"]
TEST = [
    *requirements(FOR_TESTS),
    *PLOTS,
    *BENCHMARKS,
    *BOX2D,
    *DM_CONTROL,
    *DOCS,
    *MINATAR,
    *ONNX,
    "onnxruntime",
    *HUB,
    *RAY,
    *RUN_NOTEBOOKS,
    *VIDEO,
    *WANDB,
    "build",
    "hypothesis",
    "import-linter",
    "mypy",
    "pytest-randomly",
    "pytest-timeout",
    "pytest-xdist",
    "ruff",
    "setuptools>=70.1",  # builds wheels by itself
    "types-PyYAML",
    "types-psutil",
]

setup(
    name="acer_tf",
    version=VERSION,
    description="ACER for TensorFlow 2 and Keras 3: a faithful port of OpenAI baselines' acer",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="acer_tf contributors",
    license="MIT",
    license_files=["LICENSE"],
    keywords=["acer", "actor-critic", "atari", "keras", "reinforcement learning", "tensorflow"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=find_packages(include=["acer_tf", "acer_tf.*"]),
    package_data={
        "acer_tf": [
            "py.typed",
            "configs/*.csv",
            "configs/*.yml",
            "demos/*.yml",
            "demos/*.zip",
            "experiments/*.yml",
            "experiments/*.csv",
            "experiments/*.md",
            "plots/page.html",
        ]
    },
    entry_points={"console_scripts": ["acer = acer_tf.__main__:main"]},
    install_requires=requirements(f"\n{BASE}"),
    extras_require={
        "plots": PLOTS,
        "benchmarks": BENCHMARKS,
        "mujoco": MUJOCO,
        "box2d": BOX2D,
        "dm-control": DM_CONTROL,
        "notebooks": NOTEBOOKS,
        "video": VIDEO,
        "gpu": GPU,
        "test": TEST,
        "hub": HUB,
        "wandb": WANDB,
        "minari": MINARI,
        "onnx": ONNX,
        "ray": RAY,
        "sb3": SB3,
        "docs": DOCS,
        "minatar": MINATAR,
        "audit": AUDIT,
    },
)
