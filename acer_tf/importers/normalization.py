"""Normalization of observations and returns as Stable Baselines' `VecNormalize` saves it, in one file or two."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.wrappers.normalize import CLIP, EPS
from acer_tf.errors import InputError
from acer_tf.importers.files import read_decompressed
from acer_tf.importers.objects import Inert
from acer_tf.importers.pickled import read_pickle
from acer_tf.storage.durable import reading
from acer_tf.storage.input_errors import as_input_error
from acer_tf.storage.paths import user_path

Moments = dict[str, NDArray[np.float64]]
"""`mean` and `var`, with the shape of one observation or, for returns, [], and `count`."""
VEC_NORMALIZE = "vecnormalize.pkl"
"""The zoo's name for the file of `VecNormalize.save`."""
RUNNING_AVERAGES = {"obs": "obs_rms.pkl", "return": "ret_rms.pkl"}
"""Files of Stable Baselines before version 2.9."""
_ARGUMENTS = {"obs": {"clip_obs": CLIP, "epsilon": EPS}, "return": {"clip_reward": CLIP, "epsilon": EPS}}
"""Arguments of `VecNormalize` that are constants here, for normalised observations and for normalised rewards."""


def has_normalization(folder: Path) -> bool:
    """Returns whether a folder has files for `read_normalization`; the zoo puts one beside each agent."""
    return any((folder / file).is_file() for file in (VEC_NORMALIZE, *RUNNING_AVERAGES.values()))


def read_normalization(source: str | Path) -> dict[str, NDArray[np.float64]]:
    """Reads the moments with which an agent of Stable Baselines normalised, without those that it did not use.

    Args:
        source: the file that `VecNormalize.save` wrote (Stable Baselines 2.9 or later), or a folder with this file as
            `vecnormalize.pkl` or with the older `obs_rms.pkl` and `ret_rms.pkl`.

    Returns:
        Arrays with the names that `acer_tf.envs.wrappers.normalize.normalization_state` gives them.

    Raises:
        InputError: there are no such files, or one of them holds something else or numbers that cannot be moments.
    """
    file = user_path(source)
    with reading(file):
        if file.is_dir() and (file / VEC_NORMALIZE).is_file():
            file = file / VEC_NORMALIZE
        found = _of_folder(file) if file.is_dir() else _of_file(file)
    if "return" in found and (shape := found["return"]["mean"].shape) != ():
        raise InputError(f"{source} has moments of returns of shape {shape}; expected ().")
    return {f"{name}_{kind}": array for name, moments in found.items() for kind, array in moments.items()}


def read_moments(path: str | Path) -> Moments:
    """Reads `obs_rms.pkl` or `ret_rms.pkl`."""
    with as_input_error(path, "a running mean and variance of Stable Baselines"):
        return _moments(read_pickle(read_decompressed(path)))


def _of_folder(folder: Path) -> dict[str, Moments]:
    paths = {name: folder / file for name, file in RUNNING_AVERAGES.items()}
    found = {name: read_moments(path) for name, path in paths.items() if path.is_file()}
    if not found:
        raise InputError(
            f"{folder} has neither {VEC_NORMALIZE} nor {' nor '.join(RUNNING_AVERAGES.values())}; expected a folder of "
            "Stable Baselines' zoo, or the file that VecNormalize.save wrote."
        )
    # Both files are always written; the count is zero for what was not normalised.
    return {name: moments for name, moments in found.items() if moments["count"] >= 1}


def _of_file(file: Path) -> dict[str, Moments]:
    with as_input_error(file, "a VecNormalize of Stable Baselines"):
        value = read_pickle(read_decompressed(file))
        if not isinstance(value, Inert) or not isinstance(value.state, dict):
            raise ValueError("expected an object of the class VecNormalize")
        if value.short_name == "RunningMeanStd":
            raise ValueError(f"it is one of two files, {' and '.join(RUNNING_AVERAGES.values())}; give their folder")
        if value.short_name != "VecNormalize" or not value.name.startswith("stable_baselines."):
            raise ValueError(f"it holds an object of the class {value.name[:80]!r}")
        return _of_vec_normalize(value.state)


def _of_vec_normalize(state: Mapping[Any, Any]) -> dict[str, Moments]:
    found: dict[str, Moments] = {}
    for name, switch, moments in (("obs", "norm_obs", "obs_rms"), ("return", "norm_reward", "ret_rms")):
        if not isinstance(is_on := state.get(switch), bool):
            raise ValueError(f"it has no {switch}")
        if is_on:  # in 2.10, moments are updated even if unused
            found[name] = _moments(state.get(moments))
    for argument, ours in (argument for name in found for argument in _ARGUMENTS[name].items()):
        theirs = state.get(argument)
        if not (isinstance(theirs, int | float) and theirs == ours):
            raise ValueError(f"its {argument} is {str(theirs)[:80]!r}, which is always {ours:g} here")
    return found


def _moments(value: Any) -> Moments:
    match value.state if isinstance(value, Inert) else None:
        case {
            "mean": np.ndarray() | float() as mean,
            "var": np.ndarray() | float() as var,
            "count": float() | int() as n,
        }:
            mean, var = np.asarray(mean, np.float64), np.asarray(var, np.float64)
            if mean.shape == var.shape and np.isfinite([mean, var]).all() and (var >= 0).all() and 0 <= n < 2**63:
                return {"mean": mean, "var": var, "count": np.asarray(n)}
    raise ValueError("expected a RunningMeanStd: finite mean, var and count, the first two with the same shape")
