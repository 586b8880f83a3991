"""Running statistics that Stable Baselines' `VecNormalize` saved, `obs_rms.pkl` and `ret_rms.pkl` in its zoo."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.importers.contents import contents, told
from acer_tf.importers.inert import Inert
from acer_tf.importers.pickled import read_pickle


class Statistics(NamedTuple):
    """Running mean and variance.

    Attributes:
        mean: float64, in the shape of one observation, or [] of returns.
        var: float64, in the same shape.
        samples: how many they are of; Stable Baselines begins to count at a ten-thousandth.
    """

    mean: NDArray[np.float64]
    var: NDArray[np.float64]
    samples: float


def read_statistics(path: str | Path) -> Statistics:
    """Reads `obs_rms.pkl` or `ret_rms.pkl`.

    Raises:
        InputError: there is no such file, or it holds something else.
    """
    with told(path, "running mean and variance of Stable Baselines"):
        return _statistics(read_pickle(contents(path)))


def read_folder(folder: str | Path) -> dict[str, NDArray[np.float64]]:
    """Reads those of `obs_rms.pkl` and `ret_rms.pkl` that are in a folder and are of anything.

    Returns:
        What `acer_tf.envs.wrappers.normalize.normalization_state` returns.

    Raises:
        InputError: there is neither file, or one holds something else.
    """
    paths = {"obs": Path(folder, "obs_rms.pkl"), "return": Path(folder, "ret_rms.pkl")}
    found = {name: read_statistics(path) for name, path in paths.items() if path.is_file()}
    if not found:
        raise InputError(
            f"{folder} has neither obs_rms.pkl nor ret_rms.pkl; expected a folder of Stable Baselines' zoo."
        )
    return {
        f"{name}_{kind}": np.asarray(array)
        for name, statistics in found.items()
        if statistics.samples >= 1  # what was not normalised has its statistics of nothing saved, too
        for kind, array in zip(("mean", "var", "count"), statistics, strict=True)
    }


def _statistics(value: Any) -> Statistics:
    match value.state if isinstance(value, Inert) else None:
        case {
            "mean": np.ndarray() | float() as mean,
            "var": np.ndarray() | float() as var,
            "count": float() | int() as n,
        }:
            mean, var = np.asarray(mean, np.float64), np.asarray(var, np.float64)
            if mean.shape == var.shape and np.isfinite(mean).all() and (var >= 0).all() and 0 <= n < 2**63:
                return Statistics(mean, var, n)
    raise ValueError("expected the mean, var and count of a RunningMeanStd")
