import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.importers.normalization import read_moments
from tests.importers.old_files import old, old_modules


def written(path: Path, value: Any) -> Path:
    with old_modules():
        path.write_bytes(pickle.dumps(value))
    return path


def statistics(mean: Any, var: Any, count: Any) -> Any:
    return old("stable_baselines.common.running_mean_std.RunningMeanStd", mean=mean, var=var, count=count)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_mean_variance_and_count(tmp_path: Path, shape: tuple[int, ...]) -> None:
    mean, var = np.random.default_rng(0).normal(size=shape), np.random.default_rng(1).random(shape)
    found = read_moments(written(tmp_path / "obs_rms.pkl", statistics(np.array(mean), np.array(var), 5000.0001)))
    np.testing.assert_array_equal(found.mean, mean)
    np.testing.assert_array_equal(found.var, var)
    assert (found.samples, found.mean.shape) == (5000.0001, shape)


def test_statistics_of_returns_may_be_numbers(tmp_path: Path) -> None:
    """Means of nothing but numbers turn from arrays into numpy's scalars after the first update."""
    found = read_moments(written(tmp_path / "ret_rms.pkl", statistics(np.float64(2.5), np.float64(0.5), 3.0)))
    assert (float(found.mean), float(found.var), found.samples) == (2.5, 0.5, 3)


@pytest.mark.parametrize(
    "value",
    [
        statistics(np.zeros(3), np.ones(4), 5),
        statistics(np.array([np.nan]), np.ones(1), 5),
        statistics(np.zeros(1), -np.ones(1), 5),
        statistics(np.zeros(1), np.ones(1), float("inf")),
        statistics(np.zeros(1), np.ones(1), "5"),
        {"mean": np.zeros(1), "var": np.ones(1), "count": 5},
        np.zeros(3),
    ],
)
def test_something_else_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match=r"obs_rms\.pkl does not hold a running mean and variance"):
        read_moments(written(tmp_path / "obs_rms.pkl", value))
