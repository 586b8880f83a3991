import os
import subprocess
import sys

import pytest

NAMES = ("continuous", "device", "growth", "operations", "precision", "throughput")
CHECK = """
import os, sys
from benchmarks import prepare
{imports}
assert "TF_ENABLE_ONEDNN_OPTS" not in os.environ and "tensorflow" not in sys.modules
prepare({network!r})
print(os.environ["TF_ENABLE_ONEDNN_OPTS"], "tensorflow" in sys.modules)
"""


@pytest.mark.parametrize(("network", "onednn"), [("cnn", "1"), ("mlp", "0")])
def test_benchmarks_measure_the_kernels_that_training_uses(network: str, onednn: str) -> None:
    """They choose them before they import TensorFlow, which decides then."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    check = CHECK.format(imports="\n".join(f"import benchmarks.{name}" for name in NAMES), network=network)
    result = subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [onednn, "False"]
