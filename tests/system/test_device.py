import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from acer_tf.system import device as module
from acer_tf.system.device import bfloat16_slowdown, device
from acer_tf.system.threads import VARIABLES, cores


def test_names_the_graphics_processors_or_counts_threads() -> None:
    if tf.config.list_physical_devices("GPU"):
        assert device().startswith("GPU ")
    else:
        assert device().startswith("CPU, ") and device().endswith(" (no GPU found)")


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="speaks of the GPU")
@pytest.mark.parametrize(("network", "threads"), [("mlp", min(2, cores())), ("cnn", cores())])
def test_tells_of_the_threads_that_were_chosen(network: str, threads: int) -> None:
    code = (
        f"from acer_tf.system.threads import prepare_tensorflow; prepare_tensorflow({network!r}, None)\n"
        "from acer_tf.system.device import device; print(device())"
    )
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    told = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    plural = "s" if threads > 1 else ""
    assert told.splitlines()[-1] == f"CPU, {threads} thread{plural} (no GPU found)"


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="a GPU computes in bfloat16")
@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("processor : 0\nflags\t\t: fpu avx512f avx512_bf16\nbugs\t\t:\n", 1),
        ("flags\t\t: avx512f amx_bf16\n", 1),
        ("Features\t: fp asimd bf16\n", 1),
        ("flags\t\t: fpu avx512f avx512_vnni\nbugs\t\t: bf16\n", 2),
        ("flags\t\t: fpu avx2\n", 8),
        (None, 8),
    ],
)
def test_bfloat16_is_slow_without_instructions_for_it(
    text: str | None, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CPU_INFO", tmp_path / "cpuinfo")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert bfloat16_slowdown() == times
