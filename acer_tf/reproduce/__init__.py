"""Runs experiments, keeps the result of every seed, and writes reports."""
