"""Search for settings with Optuna (the extra `ray`): the space, the course of a study, and its results."""
