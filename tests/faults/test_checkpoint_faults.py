import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest

from acer_tf.buffer import Buffer
from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import read_manifest, step_folder, step_of
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.replay_files import read_rows
from tests.faults.processes import TINY, command, training
from tests.full_disk import full_disk
from tests.saved import (
    assert_restores,
    files,
    found,
    hashes,
    make_buffer,
    make_checkpoints,
    save,
    save_some,
    steps,
)


def expected_buffer(step: int) -> Buffer:
    return make_buffer(2 * step)


def assert_falls_back(folder: Path, step: int, is_skipped: bool) -> None:
    """The checkpoint of this step is found whole, and the newer ones were skipped with a reason."""
    checkpoint, problems = found(folder)
    assert checkpoint is not None
    assert (checkpoint.step, bool(problems)) == (step, is_skipped)
    assert_restores(folder, checkpoint, expected_buffer(step))


def resumed(folder: Path) -> CheckpointStore:
    """As a run does that begins there."""
    checkpoints = make_checkpoints(folder)
    checkpoints.tidy()
    checkpoints.restore(found(folder)[0], make_buffer())
    return checkpoints


@pytest.fixture
def snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Path]]:
    """The tree before and after everything that the last of three saves does to the disk's order."""
    folder, taken = tmp_path / "live", []
    buffer = save_some(folder, steps=2)

    def snapshot(event: str) -> None:
        shutil.copytree(folder, tmp_path / f"{len(taken)}")
        taken.append((event, tmp_path / f"{len(taken)}"))

    sync, replace = os.fsync, os.replace
    snapshot("begin")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: (sync(descriptor), snapshot("sync")))
        patch.setattr(os, "replace", lambda old, new: (snapshot("old"), replace(old, new), snapshot(Path(new).name)))
        save(resumed(folder), 2, buffer)
    snapshot("end")
    return taken


def test_a_crash_at_any_moment_of_a_save_leaves_the_checkpoint_before(snapshots: list[tuple[str, Path]]) -> None:
    assert len(snapshots) > 12
    is_published = False
    for event, folder in snapshots:
        is_published |= event == "step-000000000002"
        assert_falls_back(folder, 2 if is_published else 1, is_skipped=False)
    assert is_published


def written_in_order(before: Path, after: Path) -> list[tuple[Path, Path]]:
    """New files with the temporary names that they have while they are written, in the order of writing."""
    (replay,) = {path.name for path in files(after / "replay")} - {path.name for path in files(before / "replay")}
    folder, temporary = Path("step-000000000002"), Path(".tmp-step-000000000002-1")
    return [
        (Path("replay") / replay, Path("replay") / ".tmp-rows-1"),
        (folder / "arrays.npz", temporary / "arrays.npz"),
        (folder / "state.json", temporary / "state.json"),
        (folder / "manifest.json", temporary / "manifest.json"),
    ]


def test_every_prefix_of_what_a_save_writes_is_survived(tmp_path: Path) -> None:
    """Cut at each border between files and at 200 random bytes; then the run goes on and saves the same again."""
    buffer = save_some(tmp_path / "before", steps=2)
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    save(resumed(tmp_path / "after"), 2, buffer)
    order = written_in_order(tmp_path / "before", tmp_path / "after")
    sizes = [(tmp_path / "after" / final).stat().st_size for final, _ in order]
    borders = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    for count, cut in enumerate(borders + random.Random(0).sample(range(sum(sizes)), 200)):
        folder = tmp_path / "crashed"
        shutil.copytree(tmp_path / "before", folder)
        (folder / ".tmp-step-000000000002-1").mkdir()
        for (final, temporary), start, size in zip(order, borders, sizes, strict=False):
            data = (tmp_path / "after" / final).read_bytes()[: max(0, cut - start)]
            is_whole = len(data) == size
            if final.parent.name != "replay":
                final = temporary.with_name(final.name)
            if data:
                (folder / (final if is_whole else temporary)).write_bytes(data)
        assert_falls_back(folder, 1, is_skipped=False)
        if count < 2 * len(borders):
            save(resumed(folder), 2, buffer)
            assert hashes(folder) == hashes(tmp_path / "after")
        shutil.rmtree(folder)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_some(tmp_path, steps=4)
    return tmp_path


def expected_damage(folder: Path, path: Path) -> tuple[int, int, int]:
    """The step to resume from, and how many checkpoints are skipped and files of replay left out."""
    if path.parent.name == "replay":
        return 3, 0, 1
    damaged = step_of(path.parent)
    return (2, 1, 0) if damaged == 3 else (3, 0, 0)


def test_no_flipped_bit_is_loaded(saved: Path) -> None:
    """200 bits in files of every kind: the checkpoint is skipped, or the rows left out; the file is named."""
    kinds = {
        "manifest": [saved / "step-000000000003" / "manifest.json", saved / "step-000000000002" / "manifest.json"],
        "state": [saved / "step-000000000003" / "state.json"],
        "arrays": [saved / "step-000000000003" / "arrays.npz"],
        "replay": list(files(saved / "replay")),
    }
    assert len(kinds["replay"]) == 3
    assert {path.suffix for path in files(saved)} == {".json", ".npz"}
    at = random.Random(0)
    for i in range(200):
        path = at.choice(kinds[list(kinds)[i % len(kinds)]])
        data = path.read_bytes()
        position = at.randrange(len(data))
        path.write_bytes(data[:position] + bytes([data[position] ^ 1 << at.randrange(8)]) + data[position + 1 :])
        checkpoint, problems = found(saved)
        lost = read_rows(saved, checkpoint.replay, make_buffer())
        assert (checkpoint.step, len(problems), len(lost)) == expected_damage(saved, path)
        assert all(path.name in str(problem) for problem in [*problems, *lost])
        path.write_bytes(data)
    assert found(saved)[0].step == 3


DAMAGES = {"unreadable link": None, "failing disk": "/proc/self/mem"}
"""Targets of links: one to itself, and a regular file whose first byte raises EIO."""


@pytest.mark.parametrize("damage", ["empty", "half", "longer", "absent", "folder", *DAMAGES])
@pytest.mark.parametrize("name", ["manifest.json", "state.json", "arrays.npz", "replay"])
def test_cut_and_lost_files_are_noticed(saved: Path, name: str, damage: str) -> None:
    newest = step_folder(saved, 3)
    replay = read_manifest(newest).replay
    path = newest / name if name != "replay" else saved / "replay" / replay[-1].name
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage in DAMAGES:
        path.symlink_to(DAMAGES[damage] or path)
    elif damage != "absent":
        path.write_bytes({"empty": b"", "half": data[: len(data) // 2], "longer": data + b"\n"}[damage])
    if name != "replay":
        assert_falls_back(saved, 2, is_skipped=True)
        return
    checkpoint, problems = found(saved)
    assert (checkpoint.step, problems) == (3, [])
    (lost,) = read_rows(saved, replay, make_buffer())
    assert path.name in str(lost)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"format": 1, "step": 3}', b"NaN", b"\x00" * 4096])
def test_garbage_instead_of_a_manifest_is_noticed(saved: Path, text: bytes) -> None:
    (step_folder(saved, 3) / "manifest.json").write_bytes(text)
    assert_falls_back(saved, 2, is_skipped=True)


def test_a_checkpoint_under_another_name_is_noticed(saved: Path) -> None:
    step_folder(saved, 3).rename(step_folder(saved, 4))
    assert_falls_back(saved, 2, is_skipped=True)


def test_when_all_are_bad_nothing_is_deleted(saved: Path) -> None:
    for path in saved.glob("step-*/state.json"):
        path.write_bytes(path.read_bytes().replace(b"17", b"18"))
    before = hashes(saved)
    checkpoint, problems = found(saved)
    assert checkpoint is None
    assert [str(problem) for problem in problems] == [
        f"{step_folder(saved, step) / 'state.json'} is missing or damaged." for step in (3, 2, 1, 0)
    ]
    assert all(isinstance(problem, InputError) for problem in problems)
    assert hashes(saved) == before


def test_a_disk_that_is_full_at_any_byte_leaves_the_checkpoints_before(saved: Path) -> None:
    """Files of 0, 100, 200, ... bytes still fit, until all do."""
    buffer, before, failures = make_buffer(7), hashes(saved), 0
    for size in range(0, 10**6, 100):
        try:
            with full_disk(size):
                save(make_checkpoints(saved), 9, buffer)
            break
        except OSError:
            failures += 1
            assert before.items() <= hashes(saved).items()
            assert steps(saved) == [0, 1, 2, 3]
            assert found(saved)[0].step == 3
    assert failures > 10
    checkpoint, _ = found(saved)
    assert checkpoint.step == 9
    assert_restores(saved, checkpoint, buffer)


def test_a_full_disk_at_the_start_is_one_sentence(tmp_path: Path) -> None:
    words = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command(tmp_path / "run", env="CartPole-v1", **TINY)]
    with training(tmp_path / "run", words) as run:
        assert run.end() == 2
    assert run.said == f"error: {tmp_path / 'run'} cannot be written (File too large); choose another folder.\n"


@pytest.mark.slow
def test_a_first_checkpoint_that_cannot_be_written_ends_a_run_before_it_trains(tmp_path: Path) -> None:
    """Logs have room, checkpoints have none; with room, the same command begins."""
    words = command(tmp_path / "run", env="CartPole-v1", **TINY, num_timesteps=40)
    with training(tmp_path / "run", ["prlimit", "--fsize=10000", *words]) as run:
        assert run.end() == 2
    assert f"error: the first checkpoint cannot be written to {tmp_path / 'run' / 'checkpoints'} (File too" in run.said
    assert "Traceback" not in run.said
    with training(tmp_path / "run", words) as run:
        assert run.end() == 0, run.said
    assert (tmp_path / "run" / "model.zip").exists()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_disk_that_fills_up_does_not_end_a_run(tmp_path: Path) -> None:
    """Neither logs nor checkpoints can be written for a while; two signals end the run at once afterwards."""
    folder = tmp_path / "run"
    with training(folder, num_timesteps=10**7, checkpoint_every=100) as run:
        run.wait_for_checkpoint(200)
        unlimited = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (10, unlimited[1]))
        failed = int(run.wait_for(r"checkpoint at step ([\d,]+) failed .*; training goes on").replace(",", ""))
        run.wait_for(r"episodes\.csv cannot be written \(File too large\); up to 4 MiB of its rows wait")
        before = hashes(folder / "checkpoints")
        assert steps(folder / "checkpoints")[-1] < failed
        assert found(folder / "checkpoints")[0].step == steps(folder / "checkpoints")[-1]
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, unlimited)
        time.sleep(1)
        run.process.send_signal(signal.SIGTERM)
        assert run.end() == 128 + signal.SIGTERM, run.said
    assert before.keys() & hashes(folder / "checkpoints").keys(), "it is the same run"
    stopped = int(run.wait_for(r"stopped at step ([\d,]+)").replace(",", ""))
    assert steps(folder / "checkpoints")[-1] == stopped > failed
    rows = [line.split(",") for line in (folder / "episodes.csv").read_text().splitlines()[1:]]
    ends = [int(row[0]) for row in rows]
    assert {len(row) for row in rows} == {4}
    assert ends == sorted(ends)
    lengths = [sum(int(row[2]) for row in rows if row[3] == env) for env in "01"]
    assert all(0.9 * stopped / 2 - 500 * 20 < length <= stopped / 2 for length in lengths)
