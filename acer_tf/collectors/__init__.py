"""Collectors: processes on Ray that collect segments with a copy of the policy while the learner trains."""
