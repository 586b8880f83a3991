"""Atari games as baselines wraps them, many of them in a few processes."""
