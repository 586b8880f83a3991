"""Measurements of speed; run as `python -m benchmarks.<name>`."""

import acer_tf  # noqa: F401  (before TensorFlow, whatever a benchmark imports first: it chooses oneDNN's kernels)
