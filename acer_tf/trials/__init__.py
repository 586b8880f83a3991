"""Many training runs: where they run, and the table of what became of them."""
