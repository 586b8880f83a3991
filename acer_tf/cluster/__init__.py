"""Ray, the extra `ray`: processes on several machines."""
