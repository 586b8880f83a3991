"""Episodes, curves and intervals to write and draw."""

import numpy as np

from acer_tf.plots.curves import Returns, curve
from acer_tf.plots.intervals import Interval


def returns(*episodes: tuple[float, float]) -> Returns:
    """Episodes from pairs of agent steps and return."""
    return Returns(*np.array(episodes, dtype=np.float64).T)


CURVES = [curve(name, returns((1, 2), (11, 10.5)), width=10) for name in ("a", "b")]
INTERVALS = [Interval("a", name, 2.0, 1.0, 3.0) for name in ("IQM", "median", "mean")]
