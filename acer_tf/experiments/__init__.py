"""Experiments that reproduce published results, as files: the claim, the runs, and what counts as reproduced."""
