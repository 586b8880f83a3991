import csv
import fcntl
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acer_tf.__main__ import COMMANDS
from tests.faults.processes import PATIENCE, TINY, command
from tests.faults.test_environments import started

ALL = ["--version", *(f"{name} --help" for name in COMMANDS)]


@pytest.mark.timeout(400)
def test_no_command_minds_a_closed_or_full_stream() -> None:
    streams = itertools.cycle([">/dev/full", ">&-", "| true"])
    running = {words: started([sys.executable, "-m", "acer_tf", *words.split()], next(streams)) for words in ALL}
    said = {words: process.communicate(timeout=PATIENCE)[0] for words, process in running.items()}
    assert said == dict.fromkeys(ALL, "")
    assert {words: process.returncode for words, process in running.items()} == dict.fromkeys(ALL, 0)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_a_sweep_and_an_evaluation_end_as_they_should_without_a_reader(tmp_path: Path) -> None:
    flags = TINY | {"env": "CartPole-v1", "num_timesteps": 200, "log_interval": 5}
    sweep = command(tmp_path / "unused", "acer_tf.sweep", envs="CartPole-v1", seeds=1, out=tmp_path / "sweep")[:-2]
    sweep += [
        word for name, value in flags.items() if name not in ("env", "seed") for word in (f"--{name}", str(value))
    ]
    with (
        started(command(tmp_path / "full", **flags), ">/dev/full 2>/dev/full") as full,
        started(sweep, "2>&1 | head -1") as cut,
    ):
        assert full.wait(PATIENCE) == cut.wait(PATIENCE) == 0
    (row,) = csv.DictReader((tmp_path / "sweep" / "sweep.csv").open())
    assert row["status"] == "done"
    assert (tmp_path / "full" / "progress.csv").read_text().count("\n") > 2
    words = [sys.executable, "-m", "acer_tf.evaluate", str(tmp_path / "full"), "--episodes", "1"]
    with started([*words, "--json", str(tmp_path / "report.json")], ">&- 2>&-") as evaluated:
        assert evaluated.wait(PATIENCE) == 0
    assert (tmp_path / "report.json").is_file()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_goes_on_while_nobody_reads_its_output(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    words = command(tmp_path / "run", **TINY | {"env": "CartPole-v1", "total_timesteps": 2000, "log_interval": 1})
    with subprocess.Popen(words, stdout=writer, stderr=writer) as run:
        os.close(writer)
        assert run.wait(PATIENCE) == 0
    os.close(reader)
    assert (tmp_path / "run" / "model.zip").is_file()
