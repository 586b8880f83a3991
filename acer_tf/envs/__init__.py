"""Environments: Atari games as baselines wraps them, and all others that gymnasium has."""
