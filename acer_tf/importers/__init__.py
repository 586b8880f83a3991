"""Reads agents of Stable Baselines 2 and of baselines from their files, as data: nothing in a file is run."""
