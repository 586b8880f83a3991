import errno
import os
import re
from pathlib import Path
from typing import Any

import pytest

from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import (
    FORMAT,
    OtherFormatError,
    checkpoint_folders,
    read_manifest,
    read_state,
    step_folder,
    verify,
)
from tests.saved import (
    ORIGIN,
    SETTINGS,
    assert_equal,
    files,
    forge_manifest,
    make_buffer,
    make_checkpoints,
    make_state,
    put,
    save,
    save_some,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_some(tmp_path)
    return tmp_path


def test_a_checkpoint_tells_what_it_was_told(folder: Path) -> None:
    checkpoint = read_manifest(step_folder(folder, 2))
    verify(checkpoint)
    assert (checkpoint.step, checkpoint.score) == (2, None)
    assert (checkpoint.settings, checkpoint.origin) == (SETTINGS, ORIGIN)
    assert [(file.start, file.stop) for file in checkpoint.replay] == [(0, 2), (2, 4)]
    assert_equal(read_state(checkpoint), make_state(2))


def test_the_same_state_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    checkpoint, again = read_manifest(step_folder(folder, 2)), make_buffer()
    state, _ = make_checkpoints(folder).restore(checkpoint, again)
    other = make_checkpoints(tmp_path / "other")
    other.save(2, state, again, None, checkpoint.settings, checkpoint.origin)
    first, second = (step_folder(root, 2) for root in (folder, tmp_path / "other"))
    for name in ("arrays.npz", "state.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_what_a_crash_left_under_the_temporary_name_is_in_nobodys_way(folder: Path) -> None:
    left = folder / ".tmp-step-000000000009" / "arrays.npz"
    left.parent.mkdir()
    left.write_text("half")
    checkpoints = make_checkpoints(folder)
    save(checkpoints, 9, make_buffer(1))
    verify(read_manifest(step_folder(folder, 9)))
    checkpoints.tidy()
    assert not left.parent.exists()


def test_data_is_on_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is synced, the manifest last, then its folder, before the name; the parent after it."""
    events: list[str] = []
    sync, replace = os.fsync, os.replace

    def recorded_sync(descriptor: int) -> None:
        sync(descriptor)
        events.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).relative_to(tmp_path)}")

    def recorded_replace(source: Path, target: Path) -> None:
        replace(source, target)
        events.append(f"rename {Path(target).relative_to(tmp_path)}")

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    save(make_checkpoints(tmp_path / "run" / "checkpoints"), 7, make_buffer(1))
    names = [re.sub(r"\.tmp-([a-z]+(-\d{12})?)-[0-9a-f]{16}", r".tmp-\1", event) for event in events]
    (replay,) = (tmp_path / "run" / "checkpoints" / "replay").iterdir()
    assert names == [
        "sync run",
        "sync run/checkpoints/replay/.tmp-rows",
        f"rename run/checkpoints/replay/{replay.name}",
        "sync run/checkpoints/replay",
        "sync run/checkpoints/.tmp-step-000000000007/arrays.npz",
        "sync run/checkpoints/.tmp-step-000000000007/state.json",
        "sync run/checkpoints/.tmp-step-000000000007/manifest.json",
        "sync run/checkpoints/.tmp-step-000000000007",
        "rename run/checkpoints/step-000000000007",
        "sync run/checkpoints",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"step": 3},
        {"step": "2"},
        {"extra": 1},
        {"settings": None},
        {"origin": [1]},
        {"replay": None},
        {"replay": [["../../x.npz", 0, 1, 3, "0" * 64]]},
        {"replay": [["000000000000-000000000001-0000000000000000.npz", 5, 6, 3, "0" * 64]]},
        {"replay": [[0, 0, 1, 3, "0" * 64]]},
        {"replay": [["a"]]},
        {"replay": ["abcde"]},
        {"files": []},
    ],
)
def test_a_forged_manifest_is_refused(folder: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        read_manifest(forge_manifest(step_folder(folder, 2), **changes))


@pytest.mark.parametrize("names", [["../../secret"], ["/etc/passwd"], ["arrays.npz"], ["arrays.npz", "more"]])
def test_a_manifest_that_names_other_files_is_refused(folder: Path, names: list[str]) -> None:
    path = forge_manifest(step_folder(folder, 2), files={name: [1, "0" * 64] for name in names})
    with pytest.raises(InputError, match="names the files"):
        verify(read_manifest(path))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"format": 1}', "[" * 10_000, "\x00", "9" * 10_000])
def test_a_manifest_that_is_none_is_refused(folder: Path, text: str) -> None:
    (step_folder(folder, 2) / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        read_manifest(step_folder(folder, 2))


def test_another_format_is_named(folder: Path) -> None:
    path = forge_manifest(step_folder(folder, 2), format=FORMAT + 1)
    advice = "resume with the version of acer_tf that wrote it, or begin anew in another folder, or with --restart_beh"
    with pytest.raises(OtherFormatError, match=rf"has format {FORMAT + 1}; expected {FORMAT}: {advice}"):
        read_manifest(path)


def test_another_format_without_a_right_checksum_is_damage(folder: Path) -> None:
    file = step_folder(folder, 2) / "manifest.json"
    file.write_text(file.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}'))
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        read_manifest(step_folder(folder, 2))


def test_a_state_that_is_none_is_refused(folder: Path) -> None:
    checkpoint = read_manifest(step_folder(folder, 2))
    for text in ("[]", "{}", "3", "{", "[" * 10_000, '{"model": 3}'):
        (checkpoint.path / "state.json").write_text(text)
        with pytest.raises(InputError, match=r"state\.json holds no state"):
            read_state(checkpoint)


def test_only_whole_names_are_checkpoints(folder: Path) -> None:
    for name in ("step-3", "step-0000000000003", ".tmp-step-000000000003", "damaged-step-000000000003"):
        (folder / name).mkdir()
    assert [path.name[-1] for path in checkpoint_folders(folder)] == ["2", "1", "0"]
    assert checkpoint_folders(folder / "absent") == []


def test_a_failed_write_publishes_nothing_and_leaves_nothing(folder: Path) -> None:
    before = list(files(folder))
    checkpoints, buffer = make_checkpoints(folder), make_buffer()
    put(buffer, 1)
    (folder / "replay").rename(folder / "away")
    (folder / "replay").write_text("in the way")
    with pytest.raises(OSError, match="replay"):
        save(checkpoints, 9, buffer)
    (folder / "replay").unlink()
    (folder / "away").rename(folder / "replay")
    assert list(files(folder)) == before


@pytest.mark.parametrize("synced", ["replay", "arrays.npz", "state.json", "manifest.json", ".tmp-step-000000000009"])
def test_a_disk_that_fails_at_any_file_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, synced: str
) -> None:
    checkpoints, buffer = make_checkpoints(folder), make_buffer()
    checkpoints.restore(read_manifest(step_folder(folder, 2)), buffer)
    before, sync = sorted(folder.rglob("*")), os.fsync

    def failing_sync(descriptor: int) -> None:
        sync(descriptor)
        if synced in Path(os.readlink(f"/proc/self/fd/{descriptor}")).name:
            raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_sync)
        put(buffer, synced == "replay")
        with pytest.raises(OSError, match="Input/output error"):
            save(checkpoints, 9, buffer)
    if synced != "replay":  # a file of rows that is whole is of use for the next checkpoint
        assert sorted(folder.rglob("*")) == before
    assert read_manifest(checkpoint_folders(folder)[0]).step == 2
    save(checkpoints, 9, buffer)
    verify(read_manifest(step_folder(folder, 9)))
