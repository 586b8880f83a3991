import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.run import PARSER
from acer_tf.training.job import Job
from acer_tf.training.run import resume_command, train


@pytest.mark.parametrize("tune_malloc", [True, False])
def test_the_allocator_is_left_alone_if_that_is_wanted(
    tune_malloc: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[bool] = []
    monkeypatch.setattr("acer_tf.training.run.keep_freed_memory", lambda: called.append(True))
    settings = {"tune_malloc": tune_malloc, "buffer_size": 10**12, "logdir": tmp_path / "run"}
    with pytest.raises(InputError, match="lower buffer_size"):
        train(Job.of(settings, "mlp"))
    assert called == [True] * tune_malloc
    assert not (tmp_path / "run").exists()


def test_interrupt_ends_whole_logs_and_saves_weights(tmp_path: Path) -> None:
    command = [
        "-m",
        "acer_tf.run",
        "--total_timesteps",
        "1e8",
        "--replay_ratio",
        "0",
        "--logdir",
        str(tmp_path / "run"),
    ]
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (tmp_path / "run" / "progress.csv").exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    own = r"[\d.]+%  .*steps.*|stopping after this update; once more stops at once|"
    assert [line for line in err.splitlines() if not re.fullmatch(own, line)] == [], "TensorFlow greets"
    assert "stopping after this update" in err
    begin = re.escape(f"training on 1 x CartPole-v1 (SerialEnvs); run folder: {tmp_path / 'run'}\n")
    assert re.search(begin + r"device: .*\n +steps +return +length", out)
    assert f"agent: {tmp_path / 'run' / 'model.zip'}" in out
    assert f"resume with: {sys.executable} -m acer_tf.run --total_timesteps 1e8" in out
    for name in ("episodes.csv", "monitor.csv", "progress.csv"):
        lines = (tmp_path / "run" / name).read_text().split("\n")
        header = next(line for line in lines if not line.startswith("#"))
        assert lines[-1] == ""
        assert {line.count(",") for line in lines[:-1] if not line.startswith("#")} == {header.count(",")}
    assert (tmp_path / "run" / "model.zip").stat().st_size > 0


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], ["--logdir", "runs/a b"]),
        (["--logdir", "x"], []),
        (["--logdir=x", "--restart_behavior", "overwrite"], ["--restart_behavior", "resume"]),
        (["--restart-behavior=restart"], ["--logdir", "runs/a b", "--restart_behavior", "resume"]),
    ],
)
def test_the_printed_command_resumes_and_never_overwrites(
    given: list[str], added: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["python", "-m", "acer_tf.run", *given]
    monkeypatch.setattr(sys, "orig_argv", words)
    resumed = shlex.split(resume_command(Path("runs/a b")))
    assert resumed == [*words, *added]
    assert PARSER.read(resumed[3:])[0].get("restart_behavior", "resume") == "resume"
    assert sys.orig_argv == words
