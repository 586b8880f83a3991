import errno
import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from acer_tf.errors import InputError
from acer_tf.storage.durable import (
    Fingerprint,
    creating,
    fingerprint,
    is_missing,
    is_still,
    new_folder,
    publish,
    read_bounded,
    replace,
    replacing,
    require_free,
    write_json,
    writing,
)
from tests.users import closed_folder


def write_durably(path: Path, data: bytes) -> None:
    with creating(path) as file:
        file.write(data)


def test_a_fingerprint_is_size_and_sha256(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10_000  # more than one block
    write_durably(tmp_path / "a", data)
    assert fingerprint(tmp_path / "a") == Fingerprint(len(data), hashlib.sha256(data).hexdigest())


def test_a_file_is_never_written_twice(tmp_path: Path) -> None:
    write_durably(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        write_durably(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"


def test_a_file_is_replaced_whole_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(KeyError), replacing(tmp_path / "a") as file:
        file.write(b"half")
        raise KeyError
    assert (tmp_path / "a").read_bytes() == b"precious"
    with replacing(tmp_path / "a") as file:
        (temporary,) = {path.name for path in tmp_path.iterdir()} - {"a", "target"}
        file.write(b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole" and not (tmp_path / "a").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"precious"
    with replacing(tmp_path / "a"):
        assert temporary not in os.listdir(tmp_path), "nobody can make a link under its name beforehand"
    assert sorted(os.listdir(tmp_path)) == ["a", "target"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_new_file_has_the_permissions_of_the_old_one(tmp_path: Path) -> None:
    def mode() -> int:
        return stat.S_IMODE((tmp_path / "a").stat().st_mode)

    replace(tmp_path / "a", b"first")
    usual = mode()
    (tmp_path / "a").chmod(0o600)
    with replacing(tmp_path / "a"):
        (temporary,) = set(tmp_path.iterdir()) - {tmp_path / "a"}
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600, "from the beginning"
    assert mode() == 0o600
    (tmp_path / "target").touch(0o777)
    (tmp_path / "target").chmod(0o777)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to(tmp_path / "target")
    replace(tmp_path / "a", b"second")
    assert mode() == usual, "not those of what a link leads to"


def test_a_new_folder_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    for name in ("new", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(KeyError), new_folder(tmp_path / name) as folder:
            (folder / "half").touch()
            raise KeyError
        with new_folder(tmp_path / name) as folder:
            assert os.listdir(tmp_path / "empty") == []
            (folder / "whole").touch()
        assert os.listdir(tmp_path / name) == ["whole"]
    with pytest.raises(InputError, match="new cannot be written"), new_folder(tmp_path / "new"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["empty", "new"]
    assert os.listdir(tmp_path / "new") == ["whole"]


def test_only_an_empty_folder_may_be_there(tmp_path: Path) -> None:
    require_free(tmp_path, may_be_empty=True)
    with pytest.raises(InputError, match="exists; choose another name"):
        require_free(tmp_path)
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(InputError, match="exists; choose another name"):
            require_free(path, may_be_empty=True)


def test_a_place_where_nothing_can_be_written_is_told_before(tmp_path: Path) -> None:
    require_free(tmp_path / "a" / "b" / "new.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file exists; choose another name"):
        require_free(tmp_path / "file")
    with pytest.raises(InputError, match=r"new\.json cannot be written \(Not a directory\); choose another file"):
        require_free(tmp_path / "file" / "a" / "new.json")
    with closed_folder(0o555) as folder:
        with pytest.raises(InputError, match=r"new\.json cannot be written \(Permission denied\)"):
            require_free(folder / "new.json")


def test_an_outage_of_the_network_is_no_proof_that_a_folder_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, absent = tmp_path.stat(), tmp_path / "absent"
    assert is_still(tmp_path, known) and not is_still(absent, known) and not is_still(tmp_path.parent, known)
    assert is_missing(absent) and not is_missing(tmp_path)

    def stale(path: Path) -> Any:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(Path, "stat", stale)
    assert is_still(tmp_path, known) and not is_missing(absent)


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").touch()
    with pytest.raises(OSError, match=r"director|denied") as refused:
        replace(tmp_path / "folder", b"new")
    assert (refused.value.filename, refused.value.filename2) == (str(tmp_path / "folder"), None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_publishing_renames_files_and_folders(tmp_path: Path) -> None:
    write_durably(tmp_path / "new", b"new")
    write_durably(tmp_path / "old", b"old")
    publish(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_bytes() == b"new"
    (tmp_path / "folder").mkdir()
    write_durably(tmp_path / "folder" / "a", b"")
    publish(tmp_path / "folder", tmp_path / "published")
    assert {path.name for path in tmp_path.iterdir()} == {"old", "published"}


def test_descriptors_are_closed(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for i in range(50):
        write_durably(tmp_path / f"{i}", b"x")
        publish(tmp_path / f"{i}", tmp_path / f"{i}-final")
        fingerprint(tmp_path / f"{i}-final")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"x": [1]})
    assert (tmp_path / "a.json").read_text() == '{\n  "x": [\n    1\n  ]\n}\n'
    with pytest.raises(InputError, match=r"a\.json cannot be written \(File exists\); choose another file\."):
        write_json(tmp_path / "a.json" / "a.json", {})
    with pytest.raises(InputError, match="some cannot be written"), writing(Path("some")):
        raise OSError(28, "No space left on device")


def test_a_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(InputError, match=r"a has more than 0 MiB\."):
        read_bounded(tmp_path / "a", 4)
    with pytest.raises(InputError, match=r"is not a file\."):
        read_bounded(tmp_path, 4)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_file_that_tells_no_size_has_the_limit_all_the_same() -> None:
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(InputError, match=r"has more than 0 MiB\."):
        read_bounded(Path("/proc/self/maps"), 10)
    assert read_bounded(Path("/proc/self/maps"), 2**24).endswith(b"\n")
