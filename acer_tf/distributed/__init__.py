"""Everything that knows Ray: access to a cluster, collectors of segments, an engine of trials."""
