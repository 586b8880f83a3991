"""Files that survive crashes: arrays, agents, checkpoints, run folders."""
