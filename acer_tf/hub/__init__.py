"""Publishing agents, and fetching those of others."""
