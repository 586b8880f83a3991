"""One training run: its job, its folder, its checkpoints and its end."""
