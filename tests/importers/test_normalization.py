import os
import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.importers.normalization import read_moments, read_normalization
from tests.importers.old_files import old, old_modules, running_mean_std, vec_normalize
from tests.importers.test_pickled import Call

MEAN, VAR = np.array([1.0, -2.0, 0.5, 3.0]), np.array([4.0, 1.0, 0.25, 9.0])


def written(path: Path, value: Any, protocol: int | None = None) -> Path:
    with old_modules():
        path.write_bytes(pickle.dumps(value, protocol))
    return path


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_mean_variance_and_count(tmp_path: Path, shape: tuple[int, ...]) -> None:
    mean, var = np.random.default_rng(0).normal(size=shape), np.random.default_rng(1).random(shape)
    found = read_moments(written(tmp_path / "obs_rms.pkl", running_mean_std(np.array(mean), np.array(var), 5000.0001)))
    np.testing.assert_array_equal(found["mean"], mean)
    np.testing.assert_array_equal(found["var"], var)
    assert (found["count"], found["mean"].shape) == (5000.0001, shape)


def test_statistics_of_returns_may_be_numbers(tmp_path: Path) -> None:
    """Means of nothing but numbers turn from arrays into numpy's scalars after the first update."""
    found = read_moments(written(tmp_path / "ret_rms.pkl", running_mean_std(np.float64(2.5), np.float64(0.5), 3.0)))
    assert found == {"mean": 2.5, "var": 0.5, "count": 3}


@pytest.mark.parametrize(
    "value",
    [
        running_mean_std(np.zeros(3), np.ones(4), 5),
        running_mean_std(np.array([np.nan]), np.ones(1), 5),
        running_mean_std(np.zeros(1), -np.ones(1), 5),
        running_mean_std(np.zeros(1), np.array([np.inf]), 5),
        running_mean_std(np.zeros(1), np.ones(1), float("inf")),
        running_mean_std(np.zeros(1), np.ones(1), "5"),
        {"mean": np.zeros(1), "var": np.ones(1), "count": 5},
        np.zeros(3),
    ],
)
def test_something_else_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match=r"obs_rms\.pkl does not hold a running mean and variance"):
        read_moments(written(tmp_path / "obs_rms.pkl", value))


def test_a_name_that_no_file_can_have_is_told() -> None:
    with pytest.raises(InputError, match=r"^a{300} cannot be read \(File name too long\)\.$"):
        read_normalization("a" * 300)


def assert_is_of_observations(found: dict[str, Any]) -> None:
    np.testing.assert_array_equal(found.pop("obs_mean"), MEAN)
    np.testing.assert_array_equal(found.pop("obs_var"), VAR)
    assert found == {"obs_count": 5000.0001}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_file_of_vec_normalize(tmp_path: Path, protocol: int) -> None:
    path = written(tmp_path / "vecnormalize.pkl", vec_normalize(MEAN, VAR), protocol)
    assert_is_of_observations(read_normalization(path))
    assert_is_of_observations(read_normalization(tmp_path))


def test_the_file_of_vec_normalize_as_joblib_or_cloudpickle_writes_it(tmp_path: Path) -> None:
    value = vec_normalize(MEAN, VAR)
    with old_modules():
        joblib.dump(value, tmp_path / "joblib")
        joblib.dump(value, tmp_path / "compressed", compress=3)
        (tmp_path / "cloudpickle").write_bytes(cloudpickle.dumps(value, protocol=2))
    for name in ("joblib", "compressed", "cloudpickle"):
        assert_is_of_observations(read_normalization(tmp_path / name))


def test_what_was_not_normalised_is_left_out(tmp_path: Path) -> None:
    """The moments of both have grown all the same."""
    both = written(tmp_path / "both", vec_normalize(MEAN, VAR, norm_reward=True))
    rewards = vec_normalize(MEAN, VAR, norm_obs=False, norm_reward=True, clip_obs=5.0)
    assert read_normalization(written(tmp_path / "rewards", rewards)).keys() == {
        "return_mean",
        "return_var",
        "return_count",
    }
    found = read_normalization(both)
    assert {name: found[name].item() for name in ("return_mean", "return_var")} == {"return_mean": 2, "return_var": 4}
    assert found.keys() > {"obs_mean", "obs_var", "obs_count", "return_count"}
    neither = written(tmp_path / "neither", vec_normalize(MEAN, VAR, norm_obs=False, clip_obs=5.0, clip_reward=5.0))
    assert read_normalization(neither) == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clip_obs": 5.0}, r"its clip_obs is '5\.0', which is always 10 here"),
        ({"epsilon": None}, "its epsilon is 'None', which is always 1e-08 here"),
        ({"norm_reward": True, "clip_reward": 5.0}, r"its clip_reward is '5\.0', which is always 10 here"),
        (
            {"norm_obs": False, "norm_reward": True, "epsilon": 1e-4},
            r"its epsilon is '0\.0001', which is always 1e-08 here",
        ),
        ({"norm_obs": "yes"}, "it has no norm_obs"),
        ({"obs_rms": running_mean_std(MEAN, VAR * np.nan)}, "expected a RunningMeanStd: finite mean, var and count"),
        ({"obs_rms": {"mean": MEAN, "var": VAR, "count": 5}}, "expected a RunningMeanStd"),
        ({"norm_reward": True, "ret_rms": running_mean_std(MEAN, VAR)}, r"returns of shape \(4,\); expected \(\)"),
    ],
)
def test_a_file_of_vec_normalize_that_cannot_be_followed(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_normalization(written(tmp_path / "file", vec_normalize(MEAN, VAR, **change)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (running_mean_std(MEAN, VAR), r"one of two files, obs_rms\.pkl and ret_rms\.pkl; give their folder"),
        (old("own.wrappers.VecNormalize", obs_rms=1), r"an object of the class 'own\.wrappers\.VecNormalize'"),
        ([1, 2], "expected an object of the class VecNormalize"),
    ],
)
def test_a_file_of_something_else(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"file does not hold a VecNormalize of Stable Baselines .*{message}"):
        read_normalization(written(tmp_path / "file", value))


def test_calls_in_a_file_of_vec_normalize_do_nothing(tmp_path: Path) -> None:
    call = Call(os.mkdir, str(tmp_path / "trace"))
    harmless = written(tmp_path / "harmless", vec_normalize(MEAN, VAR, action_space=call))
    assert_is_of_observations(read_normalization(harmless))
    for attribute in ("obs_rms", "norm_obs", "clip_obs"):
        with pytest.raises(InputError):
            read_normalization(written(tmp_path / attribute, vec_normalize(MEAN, VAR, **{attribute: call})))
    assert not (tmp_path / "trace").exists()
    with old_modules():
        joblib.load(harmless)
    assert (tmp_path / "trace").exists()
