import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import device
from benchmarks.device import Device, Setting, collectors_table, measure, settings, table

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "device.sh"


def test_every_setting_is_measured_once_and_the_first_environments_first() -> None:
    found = settings((16, 4))
    assert len(found) == len(set(found)) == 8
    assert found[:3] == [Setting(16, "float32", False), Setting(16, "bfloat16", False), Setting(16, "float32", True)]
    assert {setting.num_env for setting in found[4:]} == {4}


def test_the_table_shows_what_was_measured_and_names_what_was_not() -> None:
    numbers = {
        "train_call_ms": 12.345, "bound_share": 0.5, "env_steps_per_s": 1234.5, "share": {"training": 0.75},
        "share_beside": {"acting": 0.125}, "memory_mib": 900.2, "device_memory_mib": None,
    }  # fmt: skip
    measured = {"num_env": 16, "precision": "bfloat16", "overlap": True} | numbers
    failed = {"num_env": 64, "precision": "float32", "overlap": False, "failed": "killed"}
    lines = table([measured, failed]).splitlines()
    assert lines[2] == "| 16 | bfloat16 | yes | 12.3 | 0.50 | 1234 |  | 12% | 75% | 900 |  |"
    assert lines[3:] == ["", "- 64 environments, float32: killed"]


def test_collectors_have_a_table_of_their_own() -> None:
    medians = {"0": {"steps_per_s": 200.4}, "2": {"steps_per_s": 391.0}}
    lines = collectors_table({"medians": medians, "runs": {}}).splitlines()
    assert lines == ["| collectors | steps/s |", "| --- | --- |", "| 0 | 200 |", "| 2 | 391 |"]
    assert collectors_table({"failed": "Ray is not installed"}) == "- collectors: Ray is not installed\n"


def test_a_measurement_that_fails_or_takes_too_long_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags, setting = Device(out=tmp_path, env="CartPole-v1", network="mlp"), Setting(2, "float8", False)
    found = measure(setting, flags)
    assert (found["num_env"], found["precision"], found["overlap"]) == (2, "float8", False)
    assert "float8" in found["failed"]
    monkeypatch.setattr(device, "LONGEST", 0.01)
    assert "took more than" in measure(setting, flags)["failed"]


@pytest.mark.slow
def test_the_script_needs_no_time_to_leave_a_report(tmp_path: Path) -> None:
    command = [str(SCRIPT), "--out", str(tmp_path), "--minutes", "0", "--num_envs", "4"]
    environment = os.environ | {"PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    written = json.loads((tmp_path / "device.json").read_text(encoding="utf-8"))
    assert written["machine"]["cores"] >= 1 and "CPU" in written["machine"]["device"]
    assert [result["failed"] for result in written["results"]] == ["left out, as the time was over"] * 4
    assert written["collectors"] == {"failed": "left out, as the time was over"}
    assert (tmp_path / "device.md").read_text(encoding="utf-8") in done.stdout


@pytest.mark.slow
def test_the_script_measures(tmp_path: Path) -> None:
    command = [str(SCRIPT), "--out", str(tmp_path), "--env", "CartPole-v1", "--network", "mlp"]
    done = subprocess.run(
        [*command, "--num_envs", "4", "--seconds", "0.5"], env=os.environ | {"PYTHON": sys.executable}, check=True
    )
    written = json.loads((tmp_path / "device.json").read_text(encoding="utf-8"))
    assert done.returncode == 0 and len(written["results"]) == 4
    for result in written["results"]:
        assert result["env_steps_per_s"] > 0 and result["train_call_ms"] > 0 and result["memory_mib"] > 100
        assert ("acting" in result["share_beside"]) == result["overlap"]
