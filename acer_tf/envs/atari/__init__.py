"""Atari games as baselines wraps them, many games in a few processes."""
