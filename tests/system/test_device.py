import os
import subprocess
import sys

import pytest
import tensorflow as tf

from acer_tf.system.device import device
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
