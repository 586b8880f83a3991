import os
from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.storage import replay_files
from acer_tf.storage.durable import fingerprint
from acer_tf.storage.replay_files import ReplayFile, check_name, read_rows, unused, write_new_rows
from tests.agents import make_segment
from tests.saved import SLOTS, assert_same_rows, files, make_buffer, put


@pytest.mark.parametrize("segments", [0, 1, SLOTS - 1, SLOTS, SLOTS + 1, 3 * SLOTS + 2])
def test_rows_come_back_as_they_were(tmp_path: Path, segments: int) -> None:
    buffer, again = make_buffer(segments), make_buffer()
    written = write_new_rows(tmp_path, buffer, [])
    for file in written:
        check_name(file)
    assert read_rows(tmp_path, written, again) == []
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
    for path in unused(tmp_path, written):
        path.unlink()
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


def damage(path: Path, kind: str) -> None:
    data = path.read_bytes()
    path.unlink()
    if kind == "flipped bit":
        path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    elif kind == "unreadable":  # a regular file whose first byte raises EIO
        path.symlink_to("/proc/self/mem")


@pytest.mark.parametrize("kind", ["flipped bit", "unreadable", "absent"])
@pytest.mark.parametrize("damaged", [[0], [1], [2], [0, 1], [0, 1, 2]])
def test_segments_of_a_damaged_file_are_left_out_and_the_others_drawn(
    tmp_path: Path, damaged: list[int], kind: str
) -> None:
    """The memory has no gap afterwards: every slot that can be drawn holds a whole segment, and writing goes on."""
    buffer, written = make_buffer(), list[ReplayFile]()
    for _ in range(3):
        put(buffer, 2)
        written = write_new_rows(tmp_path, buffer, written)
    for i in damaged:
        damage(tmp_path / "replay" / written[i].name, kind)
    again = make_buffer()
    lost = read_rows(tmp_path, written, again)
    assert [written[i].name in str(problem) for i, problem in zip(damaged, lost, strict=True)] == [True] * len(damaged)
    whole = [n for i, file in enumerate(written) if i not in damaged for n in range(file.start, file.stop)]
    assert (again.num_put, again.num_in_buffer, again.oldest) == (len(whole), len(whole), 0)
    for slot, number in enumerate(whole):
        np.testing.assert_array_equal(again.rows(slot, slot + 1)["mus/rows"][0], make_segment(number).mus)
    put(again, 1)
    seen = {tuple(again.get(np.random.RandomState(seed)).mus[0].ravel()) for seed in range(50)}
    assert seen == {tuple(make_segment(n).mus[0].ravel()) for n in [*whole, len(whole)]}
    third = make_buffer()
    assert read_rows(tmp_path, write_new_rows(tmp_path, again, []), third) == []
    assert_same_rows(third, again)


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "", ".", "a.npz"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    (file,) = write_new_rows(tmp_path, make_buffer(1), [])
    with pytest.raises(ValueError, match="is not the name of a replay file"):
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


@pytest.mark.parametrize("kind", ["absent", "cut"])
def test_all_rows_are_written_again_where_a_file_is_gone(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    buffer, written, again = make_buffer(), list[ReplayFile](), make_buffer()
    for _ in range(3):
        put(buffer, 2)
        written = write_new_rows(tmp_path, buffer, written)
    gone = tmp_path / "replay" / written[1].name
    gone.unlink() if kind == "absent" else os.truncate(gone, 9)
    (whole,) = write_new_rows(tmp_path, buffer, written)
    assert (whole.start, whole.stop) == (0, 6)
    assert capsys.readouterr().err == f"{tmp_path / 'replay'} lacks files of replay; all of it is written again.\n"
    assert read_rows(tmp_path, [whole], again) == []
    assert_same_rows(again, buffer)


def test_what_others_put_beside_the_files_is_left_alone(tmp_path: Path) -> None:
    written = write_new_rows(tmp_path, make_buffer(1), [])
    for name in (".ipynb_checkpoints", "notes"):
        (tmp_path / "replay" / name).mkdir()
    (tmp_path / "replay" / "mine.npz").touch()
    assert unused(tmp_path, written) == []
    left = [tmp_path / "replay" / name for name in (f".tmp-rows-{'0' * 16}", ".tmp.npz", "..tmp.npz-123")]
    for path in left:
        path.touch()
    assert sorted(unused(tmp_path, [])) == sorted([*left, tmp_path / "replay" / written[0].name])


def test_rows_of_another_run_are_told_with_their_file(tmp_path: Path) -> None:
    (file,) = write_new_rows(tmp_path, make_buffer(2), [])
    path = tmp_path / "replay" / file.name
    with np.load(path) as arrays:
        np.savez(path, **{name: array for name, array in arrays.items() if name != "dones/rows"})
    forged = file._replace(bytes=path.stat().st_size, sha256=fingerprint(path).sha256)
    with pytest.raises(InputError, match=f"{file.name} holds no rows of this run .saved replay has no rows of dones"):
        read_rows(tmp_path, [forged], make_buffer())
