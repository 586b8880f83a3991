"""What the replay buffer is made of."""
