"""Compares this package with numerics that were recorded from OpenAI baselines."""
