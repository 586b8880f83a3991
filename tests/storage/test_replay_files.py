from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.storage import replay_files
from acer_tf.storage.replay_files import check_name, check_replay_file, read_rows, remove_unused, write_new_rows
from tests.saved import SLOTS, assert_same_rows, files, make_buffer, put


@pytest.mark.parametrize("segments", [0, 1, SLOTS - 1, SLOTS, SLOTS + 1, 3 * SLOTS + 2])
def test_rows_come_back_as_they_were(tmp_path: Path, segments: int) -> None:
    buffer, again = make_buffer(segments), make_buffer()
    written = write_new_rows(tmp_path, buffer, [])
    for file in written:
        check_name(file)
        check_replay_file(tmp_path, file)
    read_rows(tmp_path, written, again)
    assert_same_rows(again, buffer)


def test_large_memories_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = make_buffer(SLOTS)
    row = sum(array.nbytes for array in buffer.rows(0, 1).values())
    monkeypatch.setattr(replay_files, "LARGEST_FILE", 4 * row)
    written = write_new_rows(tmp_path, buffer, [])
    assert [(file.start, file.stop) for file in written] == [(0, 4), (4, 6)]
    monkeypatch.setattr(replay_files, "LARGEST_FILE", 1)
    assert len(write_new_rows(tmp_path, buffer, [])) == SLOTS


def test_files_are_dropped_when_all_their_rows_are_forgotten(tmp_path: Path) -> None:
    buffer, written, again = make_buffer(), [], make_buffer()
    for _ in range(5):
        put(buffer, 4)
        written = write_new_rows(tmp_path, buffer, written)
    assert buffer.oldest == 14
    assert [(file.start, file.stop) for file in written] == [(12, 16), (16, 20)]
    read_rows(tmp_path, written, again)
    assert_same_rows(again, buffer)
    remove_unused(tmp_path, written)
    assert sorted(file.name for file in written) == [path.name for path in files(tmp_path)]


def test_a_file_whose_last_row_was_just_forgotten_is_dropped(tmp_path: Path) -> None:
    buffer = make_buffer(2)
    written = write_new_rows(tmp_path, buffer, [])
    put(buffer, SLOTS)
    assert buffer.oldest == written[-1].stop == 2
    assert [(file.start, file.stop) for file in write_new_rows(tmp_path, buffer, written)] == [(2, 8)]


def test_rows_that_were_forgotten_between_two_saves_are_not_written(tmp_path: Path) -> None:
    buffer = make_buffer(2)
    written = write_new_rows(tmp_path, buffer, [])
    put(buffer, 3 * SLOTS)
    assert [(file.start, file.stop) for file in write_new_rows(tmp_path, buffer, written)] == [(14, 20)]


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    (file,) = write_new_rows(tmp_path, make_buffer(1), [])
    path = tmp_path / "replay" / file.name
    path.write_bytes(path.read_bytes() + b"x")
    for _ in range(2):
        with pytest.raises(InputError, match=f"{file.name} is missing or damaged"):
            check_replay_file(tmp_path, file)
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "", ".", "a.npz"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    (file,) = write_new_rows(tmp_path, make_buffer(1), [])
    with pytest.raises(ValueError, match="no name of a replay file"):
        check_name(file._replace(name=name))


def test_the_same_rows_give_the_same_file(tmp_path: Path) -> None:
    first = write_new_rows(tmp_path, make_buffer(3), [])
    assert write_new_rows(tmp_path, make_buffer(3), []) == first
    assert len(list(files(tmp_path))) == 1
    changed, rows = make_buffer(), make_buffer(3).rows(0, 3)
    rows["rewards/rows"][0, 0, 0] = np.pi
    changed.load_rows(0, 3, rows)
    (other,) = write_new_rows(tmp_path, changed, [])
    assert other.name != first[0].name
