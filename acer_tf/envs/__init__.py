"""Environments: Atari games as baselines wraps them, and all of gymnasium's other environments."""
