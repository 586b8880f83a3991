"""Many training runs: where they run, and the table of their results."""
