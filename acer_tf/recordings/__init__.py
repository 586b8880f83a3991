"""Side by side with the original: what baselines computed, recorded in files, against what this package computes."""
