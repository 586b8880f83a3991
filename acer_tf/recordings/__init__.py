"""Compares this package with numerics recorded from OpenAI baselines."""
