import csv
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from acer_tf.storage.checkpoint import checkpoint_folders, read_manifest
from tests.faults.processes import command, training

LONG = {"num_timesteps": 1_000_000, "checkpoint_every": 500, "log_interval": 20}


def whole(folder: Path) -> bool:
    """Whether every checkpoint has all files of replay that it names."""
    return all(
        (folder / "replay" / file.name).stat().st_size == file.bytes
        for path in checkpoint_folders(folder)
        for file in read_manifest(path).replay
    )


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["moved", pytest.param("deleted", marks=pytest.mark.slow)])
def test_a_run_whose_folder_goes_away_goes_on_in_a_new_one(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "run"
    with training(folder, **LONG) as run:
        run.wait_for_checkpoint(1000)
        if kind == "moved":
            folder.rename(tmp_path / "moved")
        else:
            run.delete(folder)
        run.wait_for(f"{folder} was moved or deleted; the run goes on in a new folder of that name")
        while not ((folder / "progress.csv").exists() and (folder / "episodes.csv").exists()):
            time.sleep(0.1)
        run.process.send_signal(signal.SIGTERM)
        assert run.end() == 143, run.said
    assert "stopped at step" in run.said and "Traceback" not in run.said
    assert whole(folder / "checkpoints") and (folder / "model.zip").is_file()
    assert yaml.safe_load((folder / "config.yml").read_text())["env"] == "CartPole-v1"
    for name in ("progress.csv", "episodes.csv"):
        rows = list(csv.DictReader((folder / name).open()))
        assert rows and None not in rows[0].values()
    resumed = subprocess.run(command(folder, env="CartPole-v1"), capture_output=True, text=True)
    assert resumed.returncode == 2 and "the run in" in resumed.stderr, "it can be resumed, with its own settings"


@pytest.mark.timeout(400)
def test_checkpoints_that_go_away_are_noticed_and_the_next_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with training(folder, **LONG | {"checkpoint_every": 1_000_000}) as run:
        run.wait_for("entropy")  # a row
        run.delete(folder / "checkpoints")
        run.wait_for(f"{folder / 'checkpoints'} was moved or deleted; this checkpoint does not depend on it")
        run.wait_for_checkpoint(1)
        run.kill()
    assert whole(folder / "checkpoints"), "it is written at once, not when the next one is due"


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_curves_that_cannot_be_written_stop_no_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "tb").touch()  # in the way
    with training(folder, num_timesteps=2_000, checkpoint_every=500, log_interval=20) as run:
        assert run.end() == 0, run.said
    assert run.said.count("/tb/") == run.said.count("cannot be written (File exists)") == 1, run.said
    assert "failed" not in run.said
    assert [read_manifest(path).step for path in checkpoint_folders(folder / "checkpoints")][:2] == [2000, 1500]
