import errno
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.plots.csv_files import write_curves, write_intervals
from acer_tf.plots.figures import View
from acer_tf.plots.statistics import Interval
from tests.plots.samples import some_curve

CURVES = [some_curve("A-v0", name) for name in ("a", "b")]
INTERVALS = {name: {"a": Interval(2.0, 1.0, 3.0)} for name in ("IQM", "median")}


def test_csv_has_a_row_per_bin_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    write_curves(tmp_path / "c.csv", CURVES, View())
    write_curves(tmp_path / "c.csv", CURVES[:1], View())
    header = "label,steps,mean_return,episodes,seeds,deviation,environment\n"
    assert (tmp_path / "c.csv").read_text() == header + "a,10.0,2.0,1,1,nan,A-v0\na,20.0,10.5,1,1,nan,A-v0\n"


def test_columns_are_named_after_what_is_drawn(tmp_path: Path) -> None:
    write_curves(tmp_path / "c.csv", CURVES, View("entropy", "hours"))
    assert (tmp_path / "c.csv").read_text().startswith("label,hours,entropy,values,seeds,deviation,environment\n")
    write_curves(tmp_path / "c.csv", CURVES, View("eval", "frames"))
    assert (tmp_path / "c.csv").read_text().startswith("label,frames,mean_return,values,seeds,")


def test_a_file_of_the_first_version_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("label,steps,mean_return,episodes\na,10.0,2.0,1\n")
    write_curves(tmp_path / "c.csv", CURVES, View())
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 5


def test_an_earlier_csv_stays_where_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_curves(tmp_path / "a.csv", CURVES, View())
    before = (tmp_path / "a.csv").read_text()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("acer_tf.storage.durable.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_curves(tmp_path / "a.csv", CURVES[:1], View())
    assert (tmp_path / "a.csv").read_text() == before


def test_csv_of_something_else_is_kept(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("steps,return\n1,2\n")
    with pytest.raises(InputError, match="holds something other"):
        write_curves(tmp_path / "c.csv", CURVES, View())
    assert (tmp_path / "c.csv").read_text() == "steps,return\n1,2\n"


def test_intervals_are_written_and_never_over_something_else(tmp_path: Path) -> None:
    path = tmp_path / "i.csv"
    for _ in range(2):
        write_intervals(path, INTERVALS)
        assert path.read_text() == "label,aggregate,estimate,low,high\na,IQM,2.0,1.0,3.0\na,median,2.0,1.0,3.0\n"
    path.write_text("precious")
    with pytest.raises(InputError, match="something other"):
        write_intervals(path, INTERVALS)
    assert path.read_text() == "precious"
