import os

from hypothesis import settings

# Before any test imports TensorFlow: the kernels that the recorded tolerances were found with.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# Every run of the tests tries the same examples: what fails, fails again.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
