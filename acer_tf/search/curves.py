"""The learning curve of a run in progress, at a few steps at which trials can be compared."""

import math
from pathlib import Path

import numpy as np

from acer_tf.errors import InputError
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.plots.sources import read_returns

RUNGS = 20
"""Equal parts of a training; at the end of each, a trial can be pruned."""


def curve(folder: Path, total_steps: int, is_done: bool) -> list[float]:
    """Returns the mean raw return of the last episodes at the end of each part of a training that is over.

    Args:
        folder: of the run.
        total_steps: agent steps of the whole training.
        is_done: whether it has ended; until then, a part is over when an episode has ended after it.

    Returns:
        Up to `RUNGS` values; NaN where no episode had ended yet.
    """
    try:
        steps, returns = read_returns(folder)
    except InputError:
        return [math.nan] * (RUNGS * is_done)
    over = RUNGS if is_done else min(RUNGS - 1, int(steps[-1] * RUNGS // total_steps))
    counts = np.searchsorted(steps, np.arange(1, over + 1) * total_steps / RUNGS, side="right")
    return [float(returns[max(0, n - LAST_EPISODES) : n].mean()) if n else math.nan for n in counts]


def final_return(folder: Path) -> float:
    """Returns the mean raw return of the last episodes of a run; NaN if none has ended."""
    try:
        return float(read_returns(folder).values[-LAST_EPISODES:].mean())
    except InputError:
        return math.nan
