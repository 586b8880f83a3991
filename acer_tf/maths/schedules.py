"""Learning-rate schedules: a factor as a function of the fraction of training done (baselines, `a2c/utils.py`)."""

import math
from collections.abc import Callable
from typing import Literal, SupportsFloat

from acer_tf.errors import InputError
from acer_tf.schema import LARGEST

Schedule = Callable[[float], float]
ScheduleName = Literal["constant", "linear", "double_linear_con", "middle_drop", "double_middle_drop"]


def constant(p: float) -> float:
    """Returns 1."""
    return 1.0


def linear(p: float) -> float:
    """Returns 1 - p."""
    return 1.0 - p


def middle_drop(p: float) -> float:
    """Falls linearly to 0.75, then stays at 0.075."""
    # Baselines: eps · 0.1 as soon as 1 − p is below eps = 0.75.
    return 0.075 if 1.0 - p < 0.75 else 1.0 - p


def double_linear_con(p: float) -> float:
    """Falls twice as fast as `linear` down to 0.125 and stays there."""
    # Reaches 0.125 after 43.75 % of training.
    return max(0.125, 1.0 - 2.0 * p)


def double_middle_drop(p: float) -> float:
    """Falls linearly to 0.75, stays at 0.075, and ends at 0.125: higher than its middle, as in baselines."""
    if 1.0 - p < 0.25:
        return 0.125
    return middle_drop(p)


SCHEDULES: dict[str, Schedule] = {
    "constant": constant,
    "linear": linear,
    "double_linear_con": double_linear_con,
    "middle_drop": middle_drop,
    "double_middle_drop": double_middle_drop,
}


def learning_rate(lr: float, schedule: str | Schedule, fraction: float) -> float:
    """Returns the learning rate after `fraction` of training, 0 <= fraction <= 1.

    Raises:
        InputError: the user's schedule does not give a finite number >= 0.
    """
    factor = (SCHEDULES[schedule] if isinstance(schedule, str) else schedule)(fraction)
    try:
        rate = lr * float(factor) if isinstance(factor, SupportsFloat) else math.nan
    except TypeError:  # an array of several numbers
        rate = math.nan
    if not 0 <= rate <= LARGEST:
        raise InputError(
            f"the schedule of the learning rate gives {factor!r} after {fraction:.1%} of training; expected a finite "
            "number >= 0."
        )
    return rate
