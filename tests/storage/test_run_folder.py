import contextlib
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from acer_tf import __version__
from acer_tf.errors import InputError, LockedError, SupersededError
from acer_tf.storage.run_files import LOCK_FILES
from acer_tf.storage.run_folder import (
    RunFolder,
    default_run_folder,
    folder_kept,
    note_changed,
    note_lost_replay,
    read_settings,
    run_folder,
)
from acer_tf.system.compute import cores, tensorflow_threads
from acer_tf.system.provenance import commit
from acer_tf.training.job import Job
from tests.users import closed_folder


@contextlib.contextmanager
def begun(folder: Path, settings: dict[str, Any], restart_behavior: str) -> Iterator[RunFolder]:
    with run_folder(folder) as run:
        run.begin(settings, restart_behavior)
        yield run


def test_config_tells_settings_and_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "acer_tf.run", "--env", "a b"])
    with begun(tmp_path / "a" / "b", {"env": "Some-v0", "gamma": 0.99, "seed": None}, "resume"):
        pass
    config = yaml.safe_load((tmp_path / "a" / "b" / "config.yml").read_text())
    assert {name: config[name] for name in ("env", "gamma", "seed")} == {"env": "Some-v0", "gamma": 0.99, "seed": None}
    assert config["cores"] == cores()
    assert config["tensorflow_threads"] == tensorflow_threads()
    assert config["versions"]["acer_tf"] == __version__
    assert config.get("commit") == commit()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", config["versions"]["tensorflow"])
    assert config["command"] == "python -m acer_tf.run --env 'a b'"


def test_a_folder_whose_name_is_no_text_has_settings_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"run\xff")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "acer_tf.run", "--logdir", str(folder)])
    job = Job.of({"env": "CartPole-v1", "logdir": folder}, "mlp")
    with begun(folder, job.settings(), "resume"):
        pass
    settings = read_settings(folder)
    assert settings is not None and settings["logdir"].endswith("run\\udcff")
    assert settings["command"].endswith("run\\udcff'")


def holding(folder: Path, name: str) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("precious")
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {*LOCK_FILES}


def test_a_run_that_published_nothing_is_set_aside_and_begun_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = holding(tmp_path / "run", "progress.csv")
    with begun(folder, {}, "resume"):
        assert names(folder) == {"config.yml"}
    assert (tmp_path / "run-old" / "progress.csv").read_text() == "precious"
    assert f"the run that was in {folder} is in {tmp_path / 'run-old'} now." in capsys.readouterr().out


def test_an_agent_without_checkpoints_is_refused_and_a_free_folder_named(tmp_path: Path) -> None:
    folder = holding(holding(tmp_path / "run", "progress.csv"), "model.zip")
    (tmp_path / "run-2").mkdir()
    with pytest.raises(
        InputError, match=re.escape(f"without checkpoints; choose another folder (such as {tmp_path / 'run-3'})")
    ):
        with begun(folder, {}, "resume"):
            pass
    assert (folder / "progress.csv").read_text() == "precious"


def test_an_agent_alone_is_not_overwritten(tmp_path: Path) -> None:
    folder = holding(tmp_path / "run", "model.zip")
    with pytest.raises(InputError, match="choose another folder"), begun(folder, {}, "resume"):
        pass
    assert (folder / "model.zip").read_text() == "precious"
    with begun(holding(tmp_path / "best", "best.zip"), {}, "resume"):
        pass
    assert (tmp_path / "best-old" / "best.zip").read_text() == "precious"


def test_a_run_with_checkpoints_is_resumed_with_its_own_settings(tmp_path: Path) -> None:
    folder = holding(tmp_path / "run", "checkpoints/step-000000000100/manifest.json")
    (folder / "config.yml").write_text("gamma: 0.5\n")
    with begun(folder, {"gamma": 0.9}, "resume"):
        pass
    assert (folder / "config.yml").read_text() == "gamma: 0.5\n"


def test_restart_keeps_the_old_run_under_another_name(tmp_path: Path) -> None:
    folder = holding(tmp_path / "run", "progress.csv")
    (tmp_path / "run-old").mkdir()
    with begun(folder, {}, "restart"):
        assert names(folder) == {"config.yml"}
    assert (tmp_path / "run-old-2" / "progress.csv").read_text() == "precious"


def test_overwrite_deletes_the_old_run(tmp_path: Path) -> None:
    folder = holding(tmp_path / "run", "progress.csv")
    with begun(folder, {}, "overwrite"):
        assert names(folder) == {"config.yml"}
    assert names(tmp_path) == {"run"}


@pytest.mark.parametrize(("behavior", "call"), [("restart", "rename"), ("overwrite", "unlink")])
def test_a_folder_that_cannot_be_set_aside_or_emptied_is_told(
    tmp_path: Path, behavior: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = holding(tmp_path / "run", "progress.csv")

    real = getattr(Path, call)

    def busy(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path in (folder, folder / "progress.csv"):
            raise OSError(errno.EBUSY, "Device or resource busy")  # as where the folder is mounted
        return real(path, *args, **kwargs)

    monkeypatch.setattr(Path, call, busy)
    with pytest.raises(InputError, match=r"run cannot be written \(Device or resource busy\)"):
        with begun(folder, {}, behavior):
            pass
    assert (folder / "progress.csv").read_text() == "precious"


def test_overwrite_leaves_a_folder_with_other_files_alone(tmp_path: Path) -> None:
    folder = holding(holding(tmp_path / "run", "progress.csv"), "sub/thesis.tex")
    with pytest.raises(InputError, match=r"no run writes \(sub/thesis\.tex\)"):
        with begun(folder, {}, "overwrite"):
            pass
    assert names(folder) == {"progress.csv", "sub"}


@pytest.mark.parametrize("behavior", ["restart", "overwrite"])
def test_a_link_to_a_run_is_followed_or_renamed(tmp_path: Path, behavior: str) -> None:
    target = holding(tmp_path / "elsewhere", "progress.csv")
    link = tmp_path / "run"
    link.symlink_to(target)
    with begun(link, {}, behavior):
        assert names(link) == {"config.yml"}
    kept = tmp_path / "run-old" if behavior == "restart" else target
    assert names(kept) == ({"progress.csv"} if behavior == "restart" else {"config.yml"})


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        (Path(), "logdir is the current folder, or empty"),
        (Path("x" * 300), r"cannot be written \(File name too long\)"),
        (Path("/dev/null/run"), r"cannot be written \(Not a directory\)"),
    ],
)
def test_a_folder_that_no_run_can_have_is_told(folder: Path, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with run_folder(folder):
            pass


def test_a_folder_below_one_that_cannot_be_read_is_told() -> None:
    message = r"closed/run cannot be written \(Permission denied\); choose another folder"
    with closed_folder(0) as folder, pytest.raises(InputError, match=message), run_folder(folder / "run"):
        pass


@pytest.mark.parametrize("behavior", ["resume", "restart", "overwrite"])
def test_a_folder_that_another_process_holds_is_refused(tmp_path: Path, behavior: str) -> None:
    with begun(tmp_path / "run", {}, "resume"):
        with pytest.raises(InputError, match=f"run is locked by process {os.getpid()}"):
            with begun(tmp_path / "run", {}, behavior):
                pass
    with begun(tmp_path / "run", {}, behavior):
        pass


def test_a_folder_with_other_files_is_used(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with begun(tmp_path, {}, "resume"):
        pass
    assert names(tmp_path) == {"config.yml", "notes.txt"}


@pytest.mark.parametrize("other", ["one", "CartPole-v1/seed-0"])
@pytest.mark.parametrize("behavior", ["resume", "restart", "overwrite"])
def test_a_folder_of_other_runs_is_refused(tmp_path: Path, other: str, behavior: str) -> None:
    with begun(tmp_path / "runs" / other, {}, "resume"):
        (tmp_path / "runs" / other / "progress.csv").touch()
    with (
        pytest.raises(InputError, match=r"runs holds other runs, such as .*; expected .* such as .*one(-2)?\.$"),
        begun(tmp_path / "runs", {}, behavior),
    ):
        pass
    assert not (tmp_path / "runs" / "config.yml").exists()
    assert (tmp_path / "runs" / other / "progress.csv").exists()


def test_a_file_in_the_way_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        with begun(tmp_path / "file" / "run", {}, "resume"):
            pass


def test_a_write_protected_folder_is_an_input_error() -> None:
    with closed_folder(0o555) as folder, pytest.raises(InputError, match="Permission denied"):
        with begun(folder / "run", {}, "resume"):
            pass


def test_a_refused_run_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^refused on purpose$"):
        with begun(tmp_path / "run", {}, "resume"):
            raise InputError("refused on purpose")
    assert not (tmp_path / "run").exists()


def test_an_input_error_late_in_a_run_keeps_its_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^refused on purpose$"):
        with begun(tmp_path / "run", {}, "resume"):
            (tmp_path / "run" / "monitor.csv").write_text("r,l,t\n")
            raise InputError("refused on purpose")
    assert names(tmp_path / "run") == {"config.yml", "monitor.csv"}


@pytest.mark.parametrize(
    "name", ["config.yml", "episodes.csv", "usage.csv", "tb", "checkpoints", "checkpoints/replay", "wandb_id", "wandb"]
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_folder_with_a_link_in_it_is_refused(tmp_path: Path, name: str, is_there: bool) -> None:
    target = holding(tmp_path / "elsewhere", "thesis.tex") if is_there else tmp_path / "absent"
    link = tmp_path / "run" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    with pytest.raises(InputError, match=re.escape(f"{link} is a link, whose target a run would change")):
        with begun(tmp_path / "run", {}, "resume"):
            pass
    assert not is_there or names(target) == {"thesis.tex"}
    assert target.exists() == is_there


def test_a_folder_that_goes_away_is_made_and_locked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with run_folder(folder) as run:
        run.begin({"env": "Some-v0"}, "resume")
        for away in ("moved", "moved-2"):
            folder.rename(tmp_path / away)
            run._checked = 0.0  # a second later
            run.check()
            message = f"{folder} was moved or deleted; the run goes on in a new folder of that name.\n"
            assert capsys.readouterr().err == message
            assert yaml.safe_load((folder / "config.yml").read_text())["env"] == "Some-v0"
            with pytest.raises(LockedError), run_folder(folder):
                pass
        folder.rename(tmp_path / "moved-3")
        with run_folder(folder), pytest.raises(SupersededError, match="nothing more is written here"):
            run._checked = 0.0
            run.check()
    with run_folder(folder):
        pass


@pytest.mark.parametrize("has_token", [True, False])  # runs of an earlier version have none
def test_another_run_that_has_taken_the_place_is_left_alone(tmp_path: Path, has_token: bool) -> None:
    with begun(tmp_path / "other", {"env": "Other-v0"}, "resume"):
        (tmp_path / "other" / "progress.csv").touch()
    if not has_token:
        (tmp_path / "other" / ".holder").unlink()
    with run_folder(tmp_path / "run") as run:
        run.begin({"env": "Some-v0"}, "resume")
        (tmp_path / "run").rename(tmp_path / "away")
        (tmp_path / "other").rename(tmp_path / "run")
        run._checked = 0.0
        with pytest.raises(
            SupersededError, match="taken .*run over, .*; nothing more" if has_token else "run holds another run"
        ):
            run.check()
    settings = read_settings(tmp_path / "run")
    assert settings is not None and settings["env"] == "Other-v0"


def test_a_copy_of_the_run_in_its_place_is_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_folder(tmp_path / "run") as run:
        run.begin({"env": "Some-v0"}, "resume")
        (tmp_path / "run" / "progress.csv").touch()
        shutil.copytree(tmp_path / "run", tmp_path / "copy", ignore=shutil.ignore_patterns(".lock", ".lease"))
        (tmp_path / "run").rename(tmp_path / "away")
        (tmp_path / "copy").rename(tmp_path / "run")
        (tmp_path / "run" / "config.yml").write_text("env: Changed-v0\n")
        run._checked = 0.0
        run.check()
        assert "goes on in a new folder of that name" in capsys.readouterr().err
        settings = read_settings(tmp_path / "run")
        assert settings is not None and settings["env"] == "Some-v0"
        with pytest.raises(LockedError), run_folder(tmp_path / "run"):
            pass


def test_who_is_refused_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes may both find that there is no folder yet."""
    monkeypatch.setattr("acer_tf.storage.run_folder.make_folder", lambda folder: folder.mkdir(exist_ok=True) or True)
    with run_folder(tmp_path / "run") as run:
        run.begin({"env": "Some-v0"}, "resume")
        with pytest.raises(LockedError), run_folder(tmp_path / "run"):
            pass
        assert (tmp_path / "run" / "config.yml").exists()


@pytest.mark.parametrize("noted", [5, "text", {"a": 1}, None])
def test_what_is_no_list_of_notes_is_replaced(tmp_path: Path, noted: object) -> None:
    (tmp_path / "config.yml").write_text(yaml.safe_dump({"lost_replay": noted, "changed": noted, "lr": 0.1}))
    note_lost_replay(tmp_path, 20)
    note_changed(tmp_path, 40, {"lr": (0.1, 0.2)})
    settings = {"lost_replay": [20], "changed": [{"until": 40, "lr": 0.1}], "lr": 0.2}
    assert read_settings(tmp_path) == settings


def test_changes_by_force_are_noted(tmp_path: Path) -> None:
    with begun(tmp_path, {"lr": 0.1, "gamma": 0.9}, "resume"):
        pass
    for _ in range(2):  # the second time after a kill, before any checkpoint had the new value
        note_changed(tmp_path, 40, {"lr": (0.1, 0.2)})
    note_changed(tmp_path, 60, {"lr": (0.2, 0.3), "gamma": (0.9, 0.8)})
    settings = read_settings(tmp_path)
    assert settings is not None
    assert {name: settings[name] for name in ("lr", "gamma", "changed")} == {
        "lr": 0.3,
        "gamma": 0.8,
        "changed": [{"until": 40, "lr": 0.1}, {"until": 60, "lr": 0.2, "gamma": 0.9}],
    }


def test_default_folder_is_named_after_environment_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = default_run_folder("ALE/Surround-v5")
    assert re.fullmatch(r"runs/ALE-Surround-v5-\d{8}-\d{6}", str(folder))
    assert list(folder.iterdir()) == []


def test_default_folders_of_one_second_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        folders = list(threads.map(default_run_folder, ["Some-v0"] * 40))
    assert len({*folders}) == 40
    assert default_run_folder("x" * 300 + "-v0").is_dir()


@pytest.mark.parametrize("logdir", [None, Path("runs/one")])
def test_an_environment_that_changes_the_working_directory_is_refused(
    logdir: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    moved = (
        f"the environment has changed the working directory to {tmp_path / 'other'}, where the run would be written; "
    )
    message = f"{moved}give --logdir as an absolute path, such as {tmp_path / 'runs/one'}."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"), folder_kept(logdir):
        os.chdir("other")
    assert Path.cwd() == tmp_path
    with folder_kept(tmp_path / "runs"):
        os.chdir("other")
