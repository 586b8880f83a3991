"""Which settings tell runs apart in plots and reports."""

from acer_tf.storage.run_folder import LOST_REPLAY
from acer_tf.training.resume import FREE

MACHINE = ("commit", "versions", "cores", "tensorflow_threads", "processor", "onednn")
UNNAMED = ("seed", "command", LOST_REPLAY, *MACHINE, *FREE)
"""Settings that are not in the names of curves, so that the runs of a curve may differ in them."""
