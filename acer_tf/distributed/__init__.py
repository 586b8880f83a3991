"""Everything that uses Ray: access to a cluster, collectors of segments, and an engine for trials."""
