import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from acer_tf.logs.logger import Logger
from acer_tf.logs.wandb import WandbSink
from acer_tf.run import main
from acer_tf.segment import Episode
from tests.event_files import read
from tests.wandb_files import wandb_runs

ARGV = (
    "--num_env 2 --nsteps 5 --num_layers 1 --num_hidden 8 --buffer_size 100 --replay_start 20 --log_interval 3 "
    "--eval_every 60 --eval_episodes 1 --verbose 0 --seed 1"
).split()
VARIABLES = ("WANDB_MODE", "WANDB_DIR", "WANDB_PROJECT", "WANDB_ERROR_REPORTING")


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


@pytest.mark.slow
def test_a_resumed_run_is_one_tracked_run_with_the_curves_of_tensorboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in (["--total_timesteps", "100"], ["--total_timesteps", "200", "--force"]):
        assert main([*ARGV, *more, "--track", "wandb", "--logdir", "run"]) == 0
    out, err = capfd.readouterr()
    assert "wandb" not in out + err.lower() and "INFO" not in err and "warn" not in err.lower()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

    run = of_wandb(tmp_path / "run")
    assert run["id"] == (tmp_path / "run" / "wandb_id").read_text()
    assert (run["name"], run["project"]) == ("run", "acer_tf")
    config = yaml.safe_load((tmp_path / "run" / "config.yml").read_text())
    assert len(run["config"]) > 50
    assert run["config"] == {key: value for key, value in config.items() if key in run["config"]}
    curves = read(tmp_path / "run" / "tb")
    assert [step for step, _ in curves["eval/mean_return"]] == [60, 120, 180]
    assert curves["train/loss"][-1][0] > 100 and curves["rollout/episode_return"]
    # TensorBoard's numbers are of single precision.
    assert run["curves"] == {key: [(s, pytest.approx(v, rel=1e-6)) for s, v in curves[key]] for key in curves}

    assert main([*ARGV, "--total_timesteps", "40", "--logdir", "run", "--restart_behavior", "overwrite"]) == 0
    assert not (tmp_path / "run" / "wandb_id").exists()


def test_points_of_a_sink_and_of_the_one_that_goes_on(tmp_path: Path) -> None:
    for steps in (0, 40):
        sink = WandbSink(tmp_path, 4, {"total_timesteps": 200})
        sink.episodes([Episode(0, 3.0, 10, 0.1)] * 2)
        sink.progress(steps + 10)
        logger = Logger([sink])
        logger.record("custom/angle of pole", 0.25)
        logger.write({"total_timesteps": steps, "loss": 0.5, "entropy": float("nan")})
        sink.close()
        sink.close()
    assert of_wandb(tmp_path)["curves"] == {
        "time/total_timesteps": [(0, 0.0), (40, 40.0)],
        "time/frames": [(0, 0.0), (40, 160.0)],
        "train/loss": [(0, 0.5), (40, 0.5)],
        "custom/angle of pole": [(0, 0.25), (40, 0.25)],
        "rollout/episode_return": [(10, 3.0), (50, 3.0)],
        "rollout/episode_length": [(10, 10.0), (50, 10.0)],
    }


BROKEN = """
import pathlib, psutil, sys
from acer_tf.logs.wandb import WandbSink
sink = WandbSink(pathlib.Path(sys.argv[1]), None, {})
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


def test_a_missing_package_is_one_sentence_before_the_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.delattr("acer_tf.training.run.prepare_tensorflow")  # it comes before TensorFlow
    assert main(["--track", "wandb", "--logdir", str(tmp_path / "run")]) == 2
    message = 'error: --track wandb needs wandb; install it with: pip install -e ".[wandb]".\n'
    assert capsys.readouterr().err == message
    assert not (tmp_path / "run").exists()
