"""A machine that lacks what Linux alone has: signals, locks of folders, /proc, forkserver."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TASK = ["--env", "CartPole-v1", "--network", "mlp", "--num_env", "2", "--buffer_size", "2000", "--replay_start", "200"]


def start(*words: str) -> subprocess.Popen[str]:
    """Starts a command of the package on such a machine."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).with_name("elsewhere")), os.getcwd()])
    }
    return subprocess.Popen(
        [sys.executable, "-m", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def outputs(*words: str) -> str:
    """Runs a command to its end, which has to be a good one."""
    process = start(*words)
    output, _ = process.communicate(timeout=500)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    return output


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_trains_is_interrupted_resumes_sweeps_and_evaluates(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["acer_tf.run", *TASK, "--logdir", str(run), "--vectorization", "async"]
    command += ["--num_timesteps", "20000", "--checkpoint_every", "1000", "--stall_seconds", "300"]
    process = start(*command)
    deadline = time.monotonic() + 400
    while not list(run.glob("checkpoints/step-*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 130, output

    output = outputs(*command)
    assert "resum" in output
    assert "done at step 20,000" in output
    assert "mean" in outputs("acer_tf.evaluate", str(run), "--episodes", "2")
    sweep = tmp_path / "sweep"
    outputs(
        "acer_tf.sweep",
        "--envs",
        "CartPole-v1",
        "--seeds",
        "2",
        "--workers",
        "2",
        "--out",
        str(sweep),
        "--",
        *TASK[2:],
        "--num_timesteps",
        "1000",
    )
    assert "2 runs" in outputs("acer_tf.report", str(sweep), "--out", str(tmp_path / "report.html"))
