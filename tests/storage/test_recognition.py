import io
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest

from acer_tf import ACER
from acer_tf.demos.cards import demo_file
from acer_tf.errors import InputError
from acer_tf.importers.baselines import read_baselines
from acer_tf.importers.stable_baselines import is_stable_baselines, read_stable_baselines
from acer_tf.model import Model
from acer_tf.storage.agent_file import read_agent
from acer_tf.storage.recognition import Content, hint
from tests.zips import zipped


def holding(*names: str) -> bytes:
    return zipped(dict.fromkeys(names, b"x"))


FILES = {
    "nothing": (b"", Content.NOTHING),
    "agent": (demo_file("cartpole").read_bytes(), Content.AGENT),
    "weights": (
        holding("param/pi/mlp_fc0/kernel.npy", "average/pi/mlp_fc0/kernel.npy"),
        Content.WEIGHTS,
    ),
    "sb2": (holding("data", "parameter_list", "parameters"), Content.STABLE_BASELINES),
    "sb3": (
        holding("data", "policy.pth", "_stable_baselines3_version"),
        Content.STABLE_BASELINES3,
    ),
    "pickle": (pickle.dumps({}), Content.PICKLE),
    "text": (b"hello", None),
    "another text": (b"x = 5", None),
    "zlib": (zlib.compress(b""), Content.PICKLE),
    "npz": (holding("timesteps.npy"), None),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_holds_is_told_unless_it_was_expected(name: str) -> None:
    data, content = FILES[name]
    assert hint(io.BytesIO(data)) == ("" if content is None else f" {content}")
    if content is not None:
        assert hint(io.BytesIO(data), content) == ""


def test_every_reader_says_what_it_was_given_instead(tmp_path: Path) -> None:
    for name, (data, _) in FILES.items():
        (tmp_path / name).write_bytes(data)
    model = ACER("mlp", "CartPole-v1", seed=0)._state.model
    assert isinstance(model, Model)
    model.save(tmp_path / "weights")
    for read, own in (
        (read_agent, {"agent"}),
        (model.load, {"weights"}),
        (read_stable_baselines, {"sb2", "pickle", "zlib"}),
        (is_stable_baselines, {"sb2", "pickle", "zlib"}),
        (read_baselines, {"pickle", "zlib"}),
    ):
        for name in FILES.keys() - own - {"text", "another text", "npz"}:
            if read is is_stable_baselines and name != "nothing":
                continue  # any zip; the importer says more
            with pytest.raises(InputError) as error:
                read(tmp_path / name)
            assert str(error.value).endswith(f" {FILES[name][1]}"), (read, name)


def test_a_zip_is_no_pickle(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(300))
    with pytest.raises(
        InputError,
        match=r"does not hold an ACER agent of baselines \(the pickle is incomplete or damaged, or Pyth[^)]*\)\.$",
    ):
        read_baselines(tmp_path / "a.npz")
