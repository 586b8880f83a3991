import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from acer_tf.errors import InputError
from acer_tf.logs.logger import Logger
from acer_tf.logs.trackers import MODULES, SINKS, require_tracker
from acer_tf.run import main
from acer_tf.segment import Episode
from tests.event_files import read
from tests.tracked import mlflow_run, wandb_runs

ARGV = (
    "--num_env 2 --nsteps 5 --num_layers 1 --num_hidden 8 --buffer_size 100 --replay_start 20 --log_interval 3 "
    "--eval_every 60 --eval_episodes 1 --verbose 0 --seed 1"
).split()
VARIABLES = ("WANDB_MODE", "WANDB_DIR", "WANDB_PROJECT", "WANDB_ERROR_REPORTING", "MLFLOW_TRACKING_URI")
VARIABLES += ("MLFLOW_EXPERIMENT_NAME", "MLFLOW_DISABLE_TELEMETRY", "MLFLOW_HTTP_REQUEST_MAX_RETRIES")


@pytest.fixture(autouse=True)
def _without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # what is set from here on is undone in the end
        monkeypatch.delenv(name)


def of_wandb(folder: Path) -> dict[str, Any]:
    """The run that two processes have tracked; the settings are those of the first."""
    first, second = wandb_runs(folder)
    assert second["id"] == first["id"] and second["config"]["total_timesteps"] == 200
    assert (first.pop("exit"), second.pop("exit")) == (0, 0)
    del first["config"]["_wandb"]
    return {**first, "curves": {name: first["curves"][name] + points for name, points in second["curves"].items()}}


def of_mlflow(folder: Path) -> dict[str, Any]:
    run = mlflow_run(folder)
    assert run.pop("status") == "FINISHED"
    return run


@pytest.mark.parametrize(
    ("name", "tracked", "stored"), [("wandb", of_wandb, lambda value: value), ("mlflow", of_mlflow, str)]
)
def test_a_resumed_run_is_one_tracked_run_with_the_curves_of_tensorboard(
    name: str,
    tracked: Callable[[Path], dict[str, Any]],
    stored: Callable[[object], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in (["--num_timesteps", "100"], ["--num_timesteps", "200", "--force"]):
        assert main([*ARGV, *more, "--track", name, "--logdir", "run"]) == 0
    out, err = capfd.readouterr()
    assert name not in out + err.lower() and "INFO" not in err and "warn" not in err.lower()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

    run = tracked(tmp_path / "run")
    assert run["id"] == (tmp_path / "run" / f"{name}_id").read_text()
    assert (run["name"], run["project"]) == ("run", "acer_tf")
    config = yaml.safe_load((tmp_path / "run" / "config.yml").read_text())
    assert len(run["config"]) > 50
    assert run["config"] == {key: stored(value) for key, value in config.items() if key in run["config"]}
    curves = read(tmp_path / "run" / "tb")
    assert [step for step, _ in curves["eval/mean_return"]] == [60, 120, 180]
    assert curves["train/loss"][-1][0] > 100 and curves["rollout/episode_return"]
    # TensorBoard's numbers are of single precision.
    assert run["curves"] == {key: [(s, pytest.approx(v, rel=1e-6)) for s, v in curves[key]] for key in curves}


def test_variables_say_where_to_track_and_a_resumed_run_is_found_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    folder = tmp_path / "run"
    folder.mkdir()
    for steps in (0, 40):
        sink = SINKS["mlflow"]("mlflow", folder, 4, {"steps": steps})
        sink.episodes([Episode(0, 3.0, 10, 0.1)] * 2)
        sink.progress(steps + 10)
        logger = Logger([sink])
        logger.record("custom/angle of pole", 0.25)
        logger.write({"total_timesteps": steps, "loss": 0.5, "entropy": float("nan")})
        sink.close()
        sink.close()
    assert [path.name for path in folder.iterdir()] == ["mlflow_id"]
    run = mlflow_run(tmp_path)
    assert (run["name"], run["project"], run["config"]) == ("run", "mine", {"steps": "0"})
    assert run["curves"] == {
        "time/total_timesteps": [(0, 0.0), (40, 40.0)],
        "time/frames": [(0, 0.0), (40, 160.0)],
        "train/loss": [(0, 0.5), (40, 0.5)],
        "custom/angle of pole": [(0, 0.25), (40, 0.25)],
        "rollout/episode_return": [(10, 3.0), (50, 3.0)],
        "rollout/episode_length": [(10, 10.0), (50, 10.0)],
    }


BROKEN = """
import pathlib, psutil, sys
from acer_tf.logs.trackers import SINKS
sink = SINKS["wandb"]("wandb", pathlib.Path(sys.argv[1]), None, {})
sink.write({"total_timesteps": 0, "loss": 1.0})
for process in psutil.Process().children(recursive=True):
    process.kill()
    process.wait()
for steps in range(1, 100):
    sink.write({"total_timesteps": steps, "loss": 1.0})
sink.state_dict()
sink.close()
print("learned")
"""


def test_a_tracker_that_fails_is_one_line_and_no_end_of_training(tmp_path: Path) -> None:
    # A test before this one may have started wandb's service in this process: a child would share it.
    own = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    done = subprocess.run([sys.executable, "-c", BROKEN, str(tmp_path)], capture_output=True, text=True, env=own)
    assert (done.returncode, done.stdout) == (0, "learned\n")
    assert done.stderr.startswith("wandb failed (") and done.stderr.endswith("); it gets no more metrics.\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("name", "module"), [(name, module) for name in MODULES for module in MODULES[name]])
def test_a_missing_package_is_one_sentence_before_the_run_begins(
    name: str,
    module: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delattr("acer_tf.training.run.prepare_tensorflow")  # it comes before TensorFlow
    assert main(["--track", name, "--logdir", str(tmp_path / "run")]) == 2
    message = f"error: --track {name} needs packages that are missing; install: pip install -e '.[{name}]'.\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "run").exists()


def test_a_folder_named_like_the_package_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_tracker("wandb")
    (tmp_path / "only_a_folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(MODULES, "wandb", ("only_a_folder",))
    with pytest.raises(InputError, match="needs packages that are missing"):
        require_tracker("wandb")
