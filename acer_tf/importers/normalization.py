"""Normalization of observations and returns as Stable Baselines' `VecNormalize` saves it: obs_rms.pkl, ret_rms.pkl."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.importers.files import as_input_error, read_decompressed
from acer_tf.importers.objects import Inert
from acer_tf.importers.pickled import read_pickle


class Moments(NamedTuple):
    """Running mean and variance.

    Attributes:
        mean: float64, in the shape of one observation, or [] for returns.
        var: float64, in the same shape.
        samples: number of samples; Stable Baselines starts to count at 0.0001.
    """

    mean: NDArray[np.float64]
    var: NDArray[np.float64]
    samples: float


def read_moments(path: str | Path) -> Moments:
    """Reads `obs_rms.pkl` or `ret_rms.pkl`.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    with as_input_error(path, "a running mean and variance of Stable Baselines"):
        return _moments(read_pickle(read_decompressed(path)))


def read_normalization(folder: str | Path) -> dict[str, NDArray[np.float64]]:
    """Reads `obs_rms.pkl` and `ret_rms.pkl` from a folder; a file without samples counts as missing.

    Returns:
        Arrays as `acer_tf.envs.wrappers.normalize.normalization_state` names them.

    Raises:
        InputError: the folder holds neither file, or one of them holds something else.
    """
    paths = {"obs": Path(folder, "obs_rms.pkl"), "return": Path(folder, "ret_rms.pkl")}
    found = {name: read_moments(path) for name, path in paths.items() if path.is_file()}
    if not found:
        raise InputError(
            f"{folder} has neither obs_rms.pkl nor ret_rms.pkl; expected a folder of Stable Baselines' zoo."
        )
    return {
        f"{name}_{kind}": np.asarray(array)
        for name, moments in found.items()
        if moments.samples >= 1  # VecNormalize saves both files, even of what it does not normalise
        for kind, array in zip(("mean", "var", "count"), moments, strict=True)
    }


def _moments(value: Any) -> Moments:
    match value.state if isinstance(value, Inert) else None:
        case {
            "mean": np.ndarray() | float() as mean,
            "var": np.ndarray() | float() as var,
            "count": float() | int() as n,
        }:
            mean, var = np.asarray(mean, np.float64), np.asarray(var, np.float64)
            if mean.shape == var.shape and np.isfinite(mean).all() and (var >= 0).all() and 0 <= n < 2**63:
                return Moments(mean, var, n)
    raise ValueError("expected the mean, var and count of a RunningMeanStd")
