import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acer_tf.logs.csv_file import CsvFile


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


def begun(path: Path, *rows: list[int]) -> CsvFile:
    file = CsvFile(path, ["x", "y"])
    file.append(rows)
    return file


def resumed(path: Path, state: dict[str, int]) -> CsvFile:
    file = CsvFile(path, ["x", "y"])
    file.load_state_dict(state)
    return file


def test_resuming_drops_what_was_written_later(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    file = begun(path, [1, 2])
    state = file.state_dict()
    assert state == {"a.csv": path.stat().st_size}
    file.append([[3, 4], [5, 6]])
    file.close()
    again = resumed(path, state)
    assert again.state_dict() == state
    again.append([[7, 8]])
    assert path.read_text() == "x,y\n1,2\n7,8\n"
    again.close()


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_a_line_that_was_cut_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.csv"
    file = begun(path, [1, 2], [3, 4])
    state = file.state_dict()
    file.close()
    path.write_bytes(path.read_bytes()[:-cut])
    again = resumed(path, state)
    again.append([[5, 6]])
    assert path.read_text() == "x,y\n1,2\n5,6\n"
    again.close()


def test_without_rows_then_none_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    state = CsvFile(path, ["x", "y"]).state_dict()
    assert state == {"a.csv": 0}
    begun(path, [1, 2]).close()
    resumed(path, state).append([[3, 4]])
    assert path.read_text() == "x,y\n3,4\n"


def test_a_file_that_is_gone_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    file = begun(path, [1, 2])
    state = file.state_dict()
    file.close()
    path.unlink()
    resumed(path, state).append([[3, 4]])
    assert path.read_text() == "x,y\n3,4\n"


@pytest.fixture
def size_limit() -> Iterator[Callable[[int], None]]:
    """Limits the size of files, as a full disk does: a write takes what still fits, and then fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_rows_wait_while_the_disk_is_full(
    tmp_path: Path, size_limit: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    path, long = tmp_path / "a.csv", "x" * 5000
    file = begun(path, [1, 2])
    size_limit(4096)  # what is printed goes to a file, too
    for i in range(3):
        file.append([[i, long]])
    assert path.read_text() == ("x,y\n1,2\n0," + long)[:4096]
    with pytest.raises(OSError, match="File too large"):
        file.state_dict()
    assert capfd.readouterr().err.count("cannot be written (File too large); its rows wait") == 1
    size_limit(resource.RLIM_INFINITY)
    file.append([[9, 9]])
    assert path.read_text() == f"x,y\n1,2\n0,{long}\n1,{long}\n2,{long}\n9,9\n"
    assert file.state_dict() == {"a.csv": path.stat().st_size}
    file.close()


def test_a_file_that_cannot_be_made_is_made_later(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = begun(tmp_path / "absent" / "a.csv", [1, 2])
    assert "cannot be written (No such file or directory)" in capfd.readouterr().err
    (tmp_path / "absent").mkdir()
    file.close()
    assert not (tmp_path / "absent" / "a.csv").exists()
    file.append([[3, 4]])
    assert (tmp_path / "absent" / "a.csv").read_text() == "x,y\n1,2\n3,4\n"
    file.close()
