import os
import subprocess
import sys

CHECK = "import benchmarks, os, sys; print(os.environ['TF_ENABLE_ONEDNN_OPTS'], 'tensorflow' in sys.modules)"


def test_benchmarks_measure_the_kernels_that_training_uses() -> None:
    """TensorFlow decides when it is imported; many benchmarks import it before anything of the package."""
    environment = {name: value for name, value in os.environ.items() if name != "TF_ENABLE_ONEDNN_OPTS"}
    result = subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["1", "False"]
