import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
import pytest

from benchmarks.faults.__main__ import main, table
from benchmarks.faults.faults import add_strays, cut, flip, open_streams
from benchmarks.faults.interposed import Disk, unsynced
from benchmarks.faults.process import SHARED_MEMORY, unmapped
from benchmarks.faults.scratch import Scratch
from benchmarks.faults.story import Story, ViolationError
from benchmarks.faults.tasks import TASKS, Task
from tests.saved import files, save_some


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """A run with three checkpoints and both logs, of which the undisturbed run has one row more."""
    outputs, reference = tmp_path / "outputs", tmp_path / "reference"
    for folder in (outputs, reference):
        folder.mkdir()
    story = Story("CartPole", Scratch(tmp_path, is_small=False), outputs, random.Random(0), reference)
    save_some(story.folder / "checkpoints")
    (story.folder / "progress.csv").write_text("total_timesteps,loss\n0,1.5\n10,1.25\n")
    (story.folder / "episodes.csv").write_text("steps,return,length,env\n10,7.0,7,0\n10,9.0,9,1\n")
    (reference / "episodes.csv").write_text("steps,return,length,env\n10,7.0,7,0\n10,9.0,9,1\n20,5.0,5,0\n")
    return story


def test_logs_that_are_the_beginning_of_the_undisturbed_ones_break_nothing(story: Story) -> None:
    story._check_logs()
    with (story.folder / "episodes.csv").open("a") as file:
        file.write("20,5")  # a kill in the middle of a line
    story._check_logs()


@pytest.mark.parametrize(
    ("name", "row", "reason"),
    [
        ("progress.csv", "10,1.25\n", "has the steps"),
        ("progress.csv", "5,1.25\n", "has the steps"),
        ("episodes.csv", "9,5.0,5,0\n", "has the steps"),
        ("episodes.csv", "10,9.0,9,1\n", "differs from that of the undisturbed run"),
        ("episodes.csv", "20,5.5,5,0\n", "differs from that of the undisturbed run"),
    ],
)
def test_double_and_wrong_rows_are_violations(story: Story, name: str, row: str, reason: str) -> None:
    with (story.folder / name).open("a") as file:
        file.write(row)
    with pytest.raises(ViolationError, match=reason):
        story._check_logs()


def test_a_result_that_is_not_equal_to_the_bit_is_a_violation(story: Story, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "reference" / "episodes.csv", story.folder)
    for folder in (story.folder, tmp_path / "reference"):
        (folder / "model.zip").write_bytes(b"agent")
    story._check_results()
    (story.folder / "model.zip").write_bytes(b"agenT")
    with pytest.raises(ViolationError, match=r"model\.zip differs"):
        story._check_results()


def test_a_step_other_than_the_newest_intact_one_is_a_violation(story: Story) -> None:
    class Resumed:
        def __init__(self, step: int) -> None:
            self.resumed_at = lambda: step
            self.said = lambda: f"resumed at step {step}"

    assert [path.name[-1] for path in story._intact(story.folder)] == ["2", "1", "0"]
    story._check_resumed(Resumed(2), story._intact(story.folder))
    with pytest.raises(ViolationError, match="resumed at step 1"):
        story._check_resumed(Resumed(1), story._intact(story.folder))
    story._damaged.add(story._intact(story.folder)[0])
    story._check_resumed(Resumed(1), story._intact(story.folder))


def test_each_damage_changes_the_file(tmp_path: Path) -> None:
    file, content = tmp_path / "file", np.random.default_rng(0).bytes(100)
    file.write_bytes(content)
    flip(file, random.Random(1))
    flipped = file.read_bytes()
    assert sum((a ^ b).bit_count() for a, b in zip(flipped, content, strict=True)) == 1
    cut(file, random.Random(1))
    assert len(file.read_bytes()) < 100 and flipped.startswith(file.read_bytes())


def test_streams_are_closed_or_full() -> None:
    out, error = open_streams("closed output")
    assert error is None
    with pytest.raises(BrokenPipeError), open(out, "wb", buffering=0) as stream:
        stream.write(b"x")
    for descriptor in open_streams("all full"):
        with pytest.raises(OSError, match="No space left"), open(descriptor, "wb", buffering=0) as stream:
            stream.write(b"x")


def test_the_table_counts_faults_by_moment() -> None:
    lines = table({("kill", "saving"): 3, ("cut", "between"): 12}).splitlines()
    assert [line.split() for line in lines] == [["fault", "between", "saving"], ["cut", "12", "0"], ["kill", "0", "3"]]


def test_an_unknown_task_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "Chess"]) == 2
    assert "tasks Chess do not exist; expected some of CartPole, Pendulum, Pong, recurrent," in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("task", ["CartPole", "sweep"])
def test_a_short_campaign_breaks_no_promise(task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--minutes", "2", "--seed", "1", "--tasks", task, "--keep", str(tmp_path / "kept")]
    assert main(words) == 0, capsys.readouterr().out
    assert " 0 violations" in capsys.readouterr().out
    assert not list(files(tmp_path))


def test_shared_memory_is_left_behind_when_nobody_maps_it() -> None:
    memory = SharedMemory(create=True, size=16)
    try:
        assert memory.name not in unmapped()
        memory.close()
        assert memory.name in unmapped()
    finally:
        memory.unlink()
    assert memory.name not in unmapped()


def test_a_semaphore_is_mapped_though_not_by_its_name() -> None:
    before, names = unmapped(), set(os.listdir(SHARED_MEMORY))
    lock = multiprocessing.get_context("spawn").Lock()
    assert set(os.listdir(SHARED_MEMORY)) > names
    assert unmapped() <= before
    del lock


BREAKAGES = {
    "rename": ("import acer_tf.storage.checkpoint as m\nm.publish = lambda old, new: None\n", "has no checkpoint"),
    "hash": (
        "import acer_tf.storage.checkpoint as m\nm.check_whole = lambda path, expected: None\n",
        "resumed at step",
    ),
    "cut of logs": (
        "import acer_tf.logs.files as m\n"
        "def load(self, state):\n    if self._path.exists():\n        self._is_begun = True\n        self._open('r+')\n"
        "m.FileSink.load_state_dict = load\n",
        "has the steps",
    ),
    "order of syncs": ("import os\nos.fsync = lambda descriptor: None\n", "published before it was on the disk"),
    "lock": (
        "import contextlib\nimport acer_tf.storage.run_folder as m\n"
        "@contextlib.contextmanager\ndef locked(folder):\n"
        "    yield type('Lease', (), {'check': lambda self: None})()\n"
        "m.locked = locked\n",
        "second process trains in the folder of the first",
    ),
}
"""What is broken on purpose in the processes of a run, and what the campaign says of it."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", BREAKAGES)
def test_what_is_broken_on_purpose_is_noticed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "lock":  # the first has to be there still when the second begins
        words = TASKS["CartPole"].words.replace("--total_timesteps 10000", "--total_timesteps 1000000")
        monkeypatch.setitem(TASKS, "CartPole", Task(words))
    (tmp_path / "outputs").mkdir()
    scratch, (breakage, seen) = Scratch(tmp_path, is_small=False), BREAKAGES[name]
    story = Story("CartPole", scratch, tmp_path / "outputs", random.Random(5), None, breakage)
    with pytest.raises(ViolationError, match=seen):
        story._live("second process" if name == "lock" else "kill")
        if name in ("hash", "cut of logs"):
            while len(story._intact(story.folder)) < 2:
                story._live("kill")
        if name == "hash":
            newest, older, *_ = story._intact(story.folder)
            shutil.copy(older / "arrays.npz", newest)
            story._damaged.add(newest)
        story.run(0)


def test_a_checkpoint_that_gets_its_name_before_its_files_are_on_the_disk_is_noticed() -> None:
    new = "/run/checkpoints/step-000000000010"
    saved = ["sync /run/checkpoints/.tmp-a/state.json", "from /run/checkpoints/.tmp-a", f"to {new}"]
    assert unsynced(saved, ("state.json",)) == []
    assert unsynced(saved[1:], ("state.json",)) == [f"{new}/state.json"]
    renamed = [
        "sync /run/checkpoints/.tmp-a/.x",
        "from /run/checkpoints/.tmp-a/.x",
        "to /run/checkpoints/.tmp-a/state.json",
    ]
    assert unsynced([*renamed, *saved[1:]], ("state.json",)) == []


def test_a_disk_reports_and_refuses(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    if not disk.environment:
        pytest.skip("no C compiler")
    code = (
        "import os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        with open(name, 'wb', buffering=0) as file:\n"
        "            file.write(b'x')\n"
        "            os.fsync(file)\n"
        "    except OSError as error:\n        print(name, error.strerror)\n"
        "os.replace(sys.argv[1], 'c')\n"
        "try:\n    open('c').read()\nexcept OSError as error:\n    print(error.strerror)\n"
    )
    (tmp_path / "a").touch()
    disk.make_unreadable(tmp_path / "a")
    with disk.refusing("/b"):
        found = subprocess.run(
            [sys.executable, "-c", code, "a", "b"],
            env={**os.environ, **disk.environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
    assert found.stdout == "b No space left on device\nInput/output error\n"
    assert disk.calls() == [f"sync {tmp_path / 'a'}", "from a", "to c"]
    disk.forget()
    assert disk.calls() == []


def test_what_others_leave_beside_checkpoints(story: Story) -> None:
    add_strays(story.folder)
    add_strays(story.folder)
    assert (story.folder / "checkpoints" / "notes.txt").read_text() == "mine"
    assert [path.name[-1] for path in story._intact(story.folder)] == ["2", "1", "0"]
