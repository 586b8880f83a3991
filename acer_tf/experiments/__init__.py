"""Experiments that reproduce published results, as files: what is claimed, what is run, what counts as reproduced."""
