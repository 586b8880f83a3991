"""Wrappers of vector environments."""
