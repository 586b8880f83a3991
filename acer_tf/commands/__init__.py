"""Shared by the commands: flags, the life of a training run, playing with a trained agent."""
