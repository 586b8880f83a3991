"""One training run: its job, its folder, its checkpoints, its end."""
