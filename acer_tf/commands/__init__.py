"""What the commands share: flags, the life of a training run, and playing with a trained agent."""
