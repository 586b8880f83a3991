import errno
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acer_tf.buffer import Buffer
from acer_tf.storage.checkpoint import Checkpoint, read_manifest, step_folder, verify
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.durable import unfinished
from tests.saved import (
    assert_restores,
    assert_same_rows,
    files,
    found,
    hashes,
    make_buffer,
    make_checkpoints,
    make_state,
    put,
    save,
    save_some,
    steps,
)


def test_the_newest_comes_first_and_restores_to_the_bit(tmp_path: Path) -> None:
    buffer, checkpoints = make_buffer(), make_checkpoints(tmp_path)
    for step in (5, 40, 100):
        put(buffer, 5)
        save(checkpoints, step, buffer)
    checkpoint, problems = found(tmp_path)
    assert (checkpoint.step, problems) == (100, [])
    assert_restores(tmp_path, checkpoint, buffer)


def test_a_step_is_saved_once(tmp_path: Path) -> None:
    buffer, checkpoints = make_buffer(1), make_checkpoints(tmp_path)
    save(checkpoints, 5, buffer)
    before = hashes(tmp_path)
    put(buffer, 1)
    save(checkpoints, 5, buffer, score=3.0)
    assert hashes(tmp_path) == before


def test_last_best_and_milestones_are_kept(tmp_path: Path) -> None:
    checkpoints, buffer = make_checkpoints(tmp_path, keep=2, keep_every=100), make_buffer(1)
    kept = []
    for step, score in enumerate([None, 1.0, 7.0, 2.0, 3.0, 7.0, 6.0, 9.0, 8.0, 5.0, 0.0, 0.0, 0.0]):
        save(checkpoints, 30 * step, buffer, score)
        kept.append(steps(tmp_path))
    # 120 is the first after 100, 210 after 200, 300 after 300; the best are 60, 150 (as good, and newer) and then 210.
    assert kept == [
        [0],
        [0, 30],
        [30, 60],
        [60, 90],
        [60, 90, 120],
        [120, 150],
        [120, 150, 180],
        [120, 180, 210],
        [120, 210, 240],
        [120, 210, 240, 270],
        [120, 210, 270, 300],
        [120, 210, 300, 330],
        [120, 210, 300, 330, 360],
    ]


def test_only_new_segments_are_written(tmp_path: Path) -> None:
    checkpoints, buffer = make_checkpoints(tmp_path), make_buffer(4)
    save(checkpoints, 1, buffer)
    before = {path: path.stat().st_mtime_ns for path in files(tmp_path / "replay")}
    put(buffer, 1)
    save(checkpoints, 2, buffer)
    (new,) = set(files(tmp_path / "replay")) - before.keys()
    assert new.name.startswith("000000000004-000000000005-")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    save(checkpoints, 3, buffer)
    assert len(list(files(tmp_path / "replay"))) == 2


def test_a_resumed_run_writes_only_new_segments(tmp_path: Path) -> None:
    buffer = save_some(tmp_path, steps=2)
    checkpoints, again = make_checkpoints(tmp_path), make_buffer()
    checkpoint, _ = found(tmp_path)
    checkpoints.restore(checkpoint, again)
    put(again, 2)
    assert_same_rows(again, buffer)
    save(checkpoints, 9, again)
    assert [(file.start, file.stop) for file in found(tmp_path)[0].replay] == [(0, 2), (2, 4)]
    assert_restores(tmp_path, found(tmp_path)[0], buffer)


def test_restoring_puts_newer_ones_aside_and_never_deletes_them(tmp_path: Path) -> None:
    save_some(tmp_path, steps=4)
    for step in (2, 3):
        (step_folder(tmp_path, step) / "state.json").write_text("{}")
    (tmp_path / "damaged-step-000000000003").mkdir()
    checkpoint, problems = found(tmp_path)
    assert (checkpoint.step, len(problems)) == (1, 2)
    assert steps(tmp_path) == [0, 1, 2, 3], "looking changes nothing"
    make_checkpoints(tmp_path).restore(checkpoint, make_buffer())
    assert steps(tmp_path) == [0, 1]
    for name in ("damaged-step-000000000002", "damaged-step-000000000003-2"):
        assert (tmp_path / name / "state.json").read_text() == "{}"


def test_damaged_ones_are_kept_and_take_no_place_among_the_last(tmp_path: Path) -> None:
    checkpoints, buffer = make_checkpoints(tmp_path, keep=2), make_buffer(1)
    save(checkpoints, 1, buffer)
    save(checkpoints, 2, buffer)
    (step_folder(tmp_path, 2) / "manifest.json").write_text("garbage")
    save(checkpoints, 3, buffer)
    assert steps(tmp_path) == [1, 2, 3]
    save(checkpoints, 4, buffer)
    assert steps(tmp_path) == [2, 3, 4]


def test_replay_stays_as_long_as_a_checkpoint_that_may_need_it_cannot_be_read(tmp_path: Path) -> None:
    """As where shared storage cannot read a manifest for a moment."""
    checkpoints, buffer = make_checkpoints(tmp_path, keep=1), make_buffer(1)
    save(checkpoints, 1, buffer)
    manifest = step_folder(tmp_path, 1) / "manifest.json"
    whole, replay = manifest.read_bytes(), {*(tmp_path / "replay").iterdir()}
    manifest.write_text("garbage")
    make_checkpoints(tmp_path, keep=1).save(2, make_state(2), make_buffer(), None, {}, {})
    assert replay <= {*(tmp_path / "replay").iterdir()}
    manifest.write_bytes(whole)
    make_checkpoints(tmp_path, keep=1).save(3, make_state(3), make_buffer(), None, {}, {})
    assert steps(tmp_path) == [3] and not replay & {*(tmp_path / "replay").iterdir()}


def test_what_a_crash_left_is_tidied_up(tmp_path: Path) -> None:
    buffer = save_some(tmp_path, steps=2)
    before = hashes(tmp_path)
    for name in (".tmp-step-000000000003", ".trash-step-000000000000"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "arrays.npz").write_text("half")
    unfinished(unfinished(tmp_path / "step-000000000004")).mkdir()  # a crash in the course of an earlier tidying
    (tmp_path / "replay" / ".tmp.npz").write_text("half")
    others = {".tmp-mine", ".trash-mine"}
    for name in others:
        (tmp_path / name).mkdir()
    checkpoints = make_checkpoints(tmp_path)
    checkpoints.tidy()
    checkpoints.restore(found(tmp_path)[0], make_buffer())
    save(checkpoints, 2, buffer)
    assert before.items() <= hashes(tmp_path).items()
    assert {path.name for path in tmp_path.iterdir()} == {f"step-{step:012d}" for step in range(3)} | {
        "replay",
        *others,
    }
    assert len(list(files(tmp_path / "replay"))) == len(found(tmp_path)[0].replay)


def test_what_cannot_be_deleted_is_no_reason_not_to_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints, buffer = make_checkpoints(tmp_path, keep=1), make_buffer(1)
    save(checkpoints, 1, buffer)
    (tmp_path / "replay" / ".ipynb_checkpoints").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", Mock(side_effect=OSError(errno.EPERM, "Operation not permitted")))
        save(checkpoints, 2, buffer)
    assert steps(tmp_path) == [1, 2]
    assert "cannot be deleted (Operation not permitted); it stays." in capsys.readouterr().err
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "thesis.tex").write_text("precious")
    (tmp_path / ".tmp-step-000000000009").symlink_to(tmp_path / "target")
    (tmp_path / ".trash-step-000000000009").write_text("a file")
    make_checkpoints(tmp_path).tidy()
    save(checkpoints, 3, buffer)
    assert steps(tmp_path) == [3]
    assert {path.name for path in tmp_path.iterdir()} == {"step-000000000003", "replay", "target"}
    assert (tmp_path / "target" / "thesis.tex").read_text() == "precious"


def test_a_folder_that_goes_away_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoints, buffer = make_checkpoints(tmp_path / "run"), make_buffer(3)
    assert not checkpoints.is_gone
    save(checkpoints, 1, buffer)
    put(buffer, 1)
    (tmp_path / "run").rename(tmp_path / "moved")
    assert checkpoints.is_gone
    save(checkpoints, 2, buffer)
    assert (
        capsys.readouterr().err == f"{tmp_path / 'run'} was moved or deleted; this checkpoint does not depend on it.\n"
    )
    assert not checkpoints.is_gone
    assert_restores(tmp_path / "run", found(tmp_path / "run")[0], buffer)
    assert found(tmp_path / "moved")[0].step == 1


class Run:
    """A run that saves, crashes and resumes."""

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder, self.keep, self.step = folder, keep, 0
        self.buffers: dict[int, int] = {}
        self.buffer: Buffer = make_buffer()
        self.checkpoints: CheckpointStore = make_checkpoints(folder, keep)

    def train(self, segments: int) -> None:
        put(self.buffer, segments)
        self.step += 10

    def save(self, score: int) -> bool:
        """Returns whether there was anything to save."""
        if self.step in self.buffers:
            return False
        save(self.checkpoints, self.step, self.buffer, float(score))
        self.buffers[self.step] = self.buffer.num_put
        return True

    def resume(self, _: int = 0) -> None:
        self.buffer, self.checkpoints = make_buffer(), make_checkpoints(self.folder, self.keep)
        self.checkpoints.tidy()
        checkpoint, _ = found(self.folder)
        if checkpoint is None:
            self.step = 0
            return
        self.checkpoints.restore(checkpoint, self.buffer)
        self.step = checkpoint.step

    def damage_newest(self, _: int) -> None:
        if len(steps(self.folder)) > 1:
            newest = steps(self.folder)[-1]
            (step_folder(self.folder, newest) / "arrays.npz").write_text("damaged")
            self.resume()
            self.buffers = {step: count for step, count in self.buffers.items() if step < newest}


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["train", "save", "resume", "damage_newest"]), st.integers(0, 9)), max_size=25),
)
def test_no_reference_dangles_and_no_file_is_left_over(
    tmp_path_factory: pytest.TempPathFactory, keep: int, actions: list[tuple[str, int]]
) -> None:
    run = Run(tmp_path_factory.mktemp("run"), keep)
    for action, number in [*actions, ("train", 1), ("save", 0)]:
        is_saved = getattr(run, action)(number)
        used = set()
        for step in steps(run.folder):
            checkpoint = read_manifest(step_folder(run.folder, step))
            verify(checkpoint)
            used |= {file.name for file in checkpoint.replay}
        if is_saved:
            assert {path.name for path in files(run.folder / "replay")} == used
    checkpoint, _ = found(run.folder)
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.step == run.step
    assert_restores(run.folder, checkpoint, make_buffer(run.buffers[run.step]))
