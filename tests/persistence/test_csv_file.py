from pathlib import Path

import pytest

from acer_tf.persistence.csv_file import CsvFile


def test_rows_are_on_disk_before_close(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "a.csv", ["x", "y"], comment="#note")
    file.append([[1, 2.5], [3, "a,b"]])
    assert (tmp_path / "a.csv").read_bytes() == b'#note\nx,y\n1,2.5\n3,"a,b"\n'
    file.append([[4, 5]])
    assert (tmp_path / "a.csv").read_bytes().endswith(b"\n4,5\n")
    file.close()
    file.close()


def test_no_file_before_the_first_append(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "a.csv", ["x"])
    file.close()
    assert not (tmp_path / "a.csv").exists()


def test_a_first_append_without_rows_writes_the_header(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "a.csv", ["x"])
    file.append([])
    assert (tmp_path / "a.csv").read_bytes() == b"x\n"
    file.close()


def test_an_existing_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("precious")
    with pytest.raises(FileExistsError):
        CsvFile(tmp_path / "a.csv", ["x"]).append([[1]])
    assert (tmp_path / "a.csv").read_text() == "precious"
