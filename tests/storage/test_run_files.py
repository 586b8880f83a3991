from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.logs.files import file_logger
from acer_tf.storage.run_files import delete_run
from tests.saved import make_buffer, make_checkpoints, save, save_some

WRITTEN = [
    *("config.yml", "model.zip", "not-finite-000000000120.npz", "best.zip", "evaluations.csv", "usage.csv"),
    *("best-000000000400.zip", "best-000000000400-2.zip"),
    *("mlflow.db", "mlflow_id", "wandb_id", "wandb/offline-run-1/files/config.yaml"),
    *(".attempt", ".model.zip-123", ".attempt-123"),  # of an earlier version
    *(f".tmp-model.zip-{'0' * 16}", f".lease.break.123.{'0' * 32}"),  # after a crash
]


def fill(folder: Path) -> None:
    """With what a run writes, two checkpoints among them, and what crashes leave behind."""
    save_some(folder / "checkpoints", steps=2)
    file_logger(folder, "Some-v0").close()
    for name in [
        *WRITTEN,
        ".lock",
        "tb/events.out.tfevents.1.host",
        "checkpoints/.tmp-step-000000000300/.arrays.npz-99",
        f"checkpoints/.tmp-step-000000000300-{'0' * 16}/arrays.npz",
        f"checkpoints/replay/.tmp-rows-{'0' * 16}",
        "checkpoints/damaged-step-000000000200-2/state.json",
        "checkpoints/replay/..tmp.npz-1",
    ]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_all_that_a_run_writes_is_deleted_but_the_lock(tmp_path: Path) -> None:
    fill(tmp_path)
    delete_run(tmp_path)
    assert names(tmp_path) == [".lock"]
    save(make_checkpoints(tmp_path / "checkpoints"), 0, make_buffer(1))


@pytest.mark.parametrize(
    "other",
    [
        "sub/thesis.tex",
        "notes.md",
        "model.zip.bak",
        "configXyml",
        "checkpoints/mine.npz",
        "tb/mine",
        "checkpoints/replay/mine.npz",
    ],
)
def test_other_files_are_named_and_nothing_is_deleted(tmp_path: Path, other: str) -> None:
    fill(tmp_path)
    (tmp_path / other).parent.mkdir(exist_ok=True)
    (tmp_path / other).write_text("precious")
    before = names(tmp_path)
    with pytest.raises(InputError, match=f"holds files that no run writes \\({other}\\), so it is not overwritten"):
        delete_run(tmp_path)
    assert names(tmp_path) == before


def test_three_of_many_other_files_are_named(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(InputError, match=r"\(0\.txt, 1\.txt, 2\.txt and 2 more\)"):
        delete_run(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "step-000000000001").mkdir()
    (tmp_path / "elsewhere" / "step-000000000001" / "state.json").write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    (run / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"no run writes \(checkpoints\)"):
        delete_run(run)
    (run / "checkpoints").unlink()
    (run / "model.zip").symlink_to(tmp_path / "elsewhere" / "step-000000000001" / "state.json")
    delete_run(run)
    assert names(run) == []
    assert (tmp_path / "elsewhere" / "step-000000000001" / "state.json").read_text() == "precious"
