"""Parts of the replay buffer: its columns, and its size in memory."""
