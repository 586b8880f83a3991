"""Environments: Atari as baselines wraps it, and anything else gymnasium has."""
