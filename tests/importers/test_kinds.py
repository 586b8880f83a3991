import pickle
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.importers.kinds import is_of_stable_baselines
from tests.importers.old_files import data_of, layers_of, named, recording, write_joblib, write_pickle, write_zip


def test_each_kind_is_told_by_its_content(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    data, params = data_of(recorded, "MlpPolicy"), named(layers_of(recorded))
    assert is_of_stable_baselines(write_zip(tmp_path / "agent", data, params))
    assert is_of_stable_baselines(write_pickle(tmp_path / "agent", data, list(params.values())))
    assert not is_of_stable_baselines(write_joblib(tmp_path / "agent", recorded))
    assert not is_of_stable_baselines(write_joblib(tmp_path / "agent", recorded, compress=3))


@pytest.mark.parametrize("content", [b"", b"text", pickle.dumps([1]), pickle.dumps(None)])
def test_anything_else_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "agent").write_bytes(content)
    with pytest.raises(InputError, match="agent is no agent of Stable Baselines 2 or baselines"):
        is_of_stable_baselines(tmp_path / "agent")
