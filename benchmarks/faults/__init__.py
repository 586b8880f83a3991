"""A randomised campaign of faults against the training commands."""
