"""Measurements of speed; run as `python -m benchmarks.<name>`."""
