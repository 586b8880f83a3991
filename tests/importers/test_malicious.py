"""Malicious files, given to every reader of old agents: nothing runs, and one sentence says that they are refused."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.importers.baselines import read_baselines
from acer_tf.importers.normalization import read_moments, read_normalization
from acer_tf.importers.stable_baselines import read_stable_baselines
from tests.importers.old_files import data_of, layers_of, named, recording, write_joblib, write_pickle, write_zip
from tests.importers.test_pickled import KINDS, Call, evil
from tests.zips import members, write_members

READERS = [read_stable_baselines, read_baselines, read_moments, read_normalization]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_malicious_file_is_refused(tmp_path: Path, kind: str, reader: Callable[[Path], Any]) -> None:
    (tmp_path / "agent").write_bytes(evil(tmp_path / "trace")[kind])
    with pytest.raises(InputError):
        reader(tmp_path / "agent")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["policy", "observation_space", "action_space", "policy_kwargs", "gamma"])
def test_a_malicious_setting_in_a_zip_is_refused(tmp_path: Path, kind: str, key: str) -> None:
    recorded = recording("mlp_value_copy")
    path = write_zip(tmp_path / "agent", data_of(recorded, "MlpPolicy"), named(layers_of(recorded)))
    content = members(path)
    blob = base64.b64encode(evil(tmp_path / "trace")[kind]).decode()
    content["data"] = json.dumps(json.loads(content["data"]) | {key: {":serialized:": blob}}).encode()
    write_members(path, content)
    with pytest.raises(InputError):
        read_stable_baselines(path)
    assert not (tmp_path / "trace").exists()


def test_calls_among_settings_and_parameters_do_nothing(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    layers, call = layers_of(recorded), Call(os.mkdir, str(tmp_path / "trace"))
    write_pickle(tmp_path / "settings", data_of(recorded, "MlpPolicy", callback=call), named(layers))
    assert read_stable_baselines(tmp_path / "settings").policy == "MlpPolicy"
    for params in (named(layers) | {"model/q/b:0": call}, [call] * 14, call):
        write_pickle(tmp_path / "params", data_of(recorded, "MlpPolicy"), params)
        with pytest.raises(InputError):
            read_stable_baselines(tmp_path / "params")
    assert not (tmp_path / "trace").exists()


def test_calls_between_the_arrays_of_joblib_do_nothing(tmp_path: Path) -> None:
    recorded, call = recording("mlp_value_copy"), Call(os.mkdir, str(tmp_path / "trace"))
    variables = joblib.load(write_joblib(tmp_path / "agent", recorded))
    joblib.dump({"first:0": call, **variables, "last:0": call}, tmp_path / "agent")
    assert read_baselines(tmp_path / "agent").policy == "mlp"
    joblib.dump(variables | {"acer_model/q/b:0": call}, tmp_path / "agent")
    with pytest.raises(InputError):
        read_baselines(tmp_path / "agent")
    assert not (tmp_path / "trace").exists()
    joblib.load(tmp_path / "agent")
    assert (tmp_path / "trace").exists()


def test_arrays_of_objects_in_the_parameters_of_a_zip_are_refused(tmp_path: Path) -> None:
    recorded, objects = recording("mlp_value_copy"), np.empty(1, object)
    objects[0] = Call(os.mkdir, str(tmp_path / "trace"))
    params = named(layers_of(recorded)) | {"model/q/b:0": objects}
    with pytest.raises(InputError, match="neither numbers nor text"):
        read_stable_baselines(write_zip(tmp_path / "agent", data_of(recorded, "MlpPolicy"), params))
    assert not (tmp_path / "trace").exists()
