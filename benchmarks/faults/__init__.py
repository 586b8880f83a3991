"""A randomised campaign of faults against training commands."""
