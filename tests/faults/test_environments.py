import csv
import os
import subprocess
from pathlib import Path

import pytest

from acer_tf.errors import ExitStatus
from tests.faults.processes import PATIENCE, ROOT, TINY, command
from tests.saved import steps

MODULE = "tests.faults.faulty_envs"


def started(words: list[str], streams: str = "") -> subprocess.Popen[str]:
    """Starts a command in a shell that redirects its streams; those that remain are one pipe."""
    shell = ["bash", "-c", f'set -o pipefail; "$@" {streams}; exit', "bash", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


@pytest.mark.timeout(400)
def test_a_hang_that_holds_the_lock_before_the_first_reset_whatever_the_streams(tmp_path: Path) -> None:
    a, b, c = ([*command(tmp_path / name, env=f"{MODULE}:HangsInInit-v0"), "--stall_seconds", "3"] for name in "abc")
    with started(a) as shown, started(b, "2>/dev/full") as full, started(c, "2>&1 | head -1") as cut:
        said, _ = shown.communicate(timeout=PATIENCE)
        assert cut.wait(PATIENCE) == full.wait(PATIENCE) == shown.returncode == ExitStatus.STALLED, said
    assert "in hang" in said


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("moment", "is_saved"), [("Reset", False), ("Close", True)])
def test_hangs_in_the_first_reset_and_the_last_call(tmp_path: Path, moment: str, is_saved: bool) -> None:
    flags = TINY | {"num_timesteps": 20, "stall_seconds": 60}
    flags |= {"env": f"{MODULE}:HangsIn{moment}-v0"}
    with started(command(tmp_path / "run", **flags), "2>&1 >/dev/full") as run:
        said, _ = run.communicate(timeout=300)
    assert run.returncode == ExitStatus.STALLED, said
    assert f"in {moment.lower()}" in said
    assert (tmp_path / "run" / "model.zip").is_file() == is_saved


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_an_environment_does_to_its_process_is_its_failure_alone(tmp_path: Path) -> None:
    flags = [word for name, value in (TINY | {"num_timesteps": 600}).items() for word in (f"--{name}", str(value))]
    del flags[flags.index("--seed") : flags.index("--seed") + 2]
    sweep = ["acer_tf.sweep", "--envs", f"{MODULE}:ExitsInStep-v0", "--seeds", "1", "--out", str(tmp_path / "sweep")]
    whole = command(tmp_path / "whole", **TINY | {"num_timesteps": 200, "env": f"{MODULE}:RaisesInClose-v0"})
    with started([*whole[:2], *sweep, *flags]) as exits, started(whole) as raises:
        told, warned = exits.communicate(timeout=PATIENCE)[0], raises.communicate(timeout=PATIENCE)[0]

    assert exits.returncode == 1, told
    (row,) = csv.DictReader((tmp_path / "sweep" / "sweep.csv").open())
    assert row["status"] == "failed"
    assert "failed" in told and "error: an environment raised SystemExit" in told
    folder = Path(row["folder"])
    log = folder.with_name("seed-0.log").read_text()
    assert "faulty_envs.py" in log and "in _fail_at" in log
    assert log.strip().splitlines()[-1].startswith("error: an environment raised SystemExit")
    assert steps(folder / "checkpoints")[-1] > 200

    assert raises.returncode == 0, warned
    assert "the environments could not be closed: an environment raised OSError: the window is gone" in warned
    assert "Traceback" not in warned
    assert (tmp_path / "whole" / "model.zip").is_file()
