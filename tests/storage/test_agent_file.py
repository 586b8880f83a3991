import io
from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.storage.agent_file import read_agent, write_agent
from tests.zips import members, write_members

GROUPS = {"model": {"param/a": np.arange(3.0), "ms/a": np.ones(3)}, "random": {"sampling": np.array([7])}}
LSTM = Path(__file__).parents[1] / "fixtures" / "format-1" / "lstm.zip"


def test_data_and_arrays_come_back(tmp_path: Path) -> None:
    write_agent(tmp_path / "agent", {"steps": 5}, GROUPS)
    data, groups = read_agent(tmp_path / "agent.zip")
    assert data == {"steps": 5} and groups.keys() == GROUPS.keys()
    for group, arrays in GROUPS.items():
        assert groups[group].keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(groups[group][name], array, strict=True)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_agent("~/agent", {"steps": 5}, GROUPS)
    assert [path.name for path in tmp_path.iterdir()] == ["agent.zip"]
    assert read_agent("~/agent")[0] == read_agent(Path("~/agent.zip"))[0] == {"steps": 5}


def test_the_same_agent_gives_the_same_bytes() -> None:
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        write_agent(file, {"b": 1, "a": [True, None]}, GROUPS)
    assert files[0].getvalue() == files[1].getvalue()


def copied(path: Path, without: str) -> Path:
    write_members(path, {name: data for name, data in members(LSTM).items() if name != without})
    return path


def test_names_of_format_1_become_those_of_the_model(tmp_path: Path) -> None:
    _, groups = read_agent(copied(tmp_path / "old.zip", without=""))
    assert groups.keys() == {"model", "random", "normalization"}
    names = {name.partition("/")[2] for name in groups["model"] if name.startswith("param/")}
    assert names and groups["model"].keys() == {
        f"{kind}/{name}" for kind in ("param", "average", "ms", "mom") for name in names
    }


@pytest.mark.parametrize("member", ["parameters.npz", "average.npz", "optimizer.npz", "data.json"])
def test_a_file_of_format_1_without_a_part_is_refused(tmp_path: Path, member: str) -> None:
    with pytest.raises(InputError, match=r"old\.zip is not the file of a trained agent, or is incomplete"):
        read_agent(copied(tmp_path / "old.zip", without=member))


def test_what_is_no_file_is_not_written() -> None:
    with pytest.raises(InputError, match=r"^it is None; expected a path, or a file open for writing\.$"):
        write_agent(None, {}, {})  # type: ignore[arg-type]
