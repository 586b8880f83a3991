"""Reads agents of Stable Baselines 2 and baselines from their files, as data: no code in a file is run."""
