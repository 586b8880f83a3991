import importlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import acer_tf
from acer_tf.__main__ import COMMANDS, main


def acer(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/acer", *words])
    return main()


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_has_a_line_for_each_command(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert acer(monkeypatch, *words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [*COMMANDS]
    assert max(map(len, lines)) <= 80


def test_every_command_has_a_main() -> None:
    for module, _ in COMMANDS.values():
        assert callable(importlib.import_module(module).main)


def test_the_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert acer(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"acer_tf {acer_tf.__version__}\n"


def test_an_empty_command_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert acer(monkeypatch, "") == 2
    assert capsys.readouterr().err == "error: '' is not a command; acer --help lists them.\n"


def test_a_misspelt_command_names_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert acer(monkeypatch, "evalute", "runs/pong") == 2
    assert capsys.readouterr().err.startswith("error: 'evalute' is not a command; the nearest are evaluate, ")


@pytest.mark.parametrize("name", ["run-atari", "run_atari"])
def test_a_commands_help_says_how_it_was_started(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        acer(monkeypatch, name, "--help")
    assert stop.value.code == 0
    assert "Usage: acer run-atari [OPTIONS]" in capsys.readouterr().out


def test_the_words_reach_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert acer(monkeypatch, "run", "--env", "CartPol-v1") == 2
    assert "CartPole-v1" in capsys.readouterr().err


LIGHT = [
    ({"cyclopts"}, ["--help", "--version", "rnu"]),
    ({"keras", "gymnasium", "ale_py", "cv2"}, ["run --evn CartPole-v1", "run --num_env x", "run-atari --evn Pong"]),
    (
        {"tensorflow"},
        [
            *("run --num_hiden=3", "run --env=CartPol-v1", "run --trust_region=maybe", "run --env_kwargs={a:1}"),
            *("run-atari --env Breakot", "evaluate ."),
        ],
    ),
]
"""Packages that are imported neither for these words nor for those before them."""


def test_answers_and_typos_come_before_anything_large_is_imported(tmp_path: Path) -> None:
    code = "import json, sys; from acer_tf.__main__ import main; print(json.dumps([(int(main()), [*sys.modules]) for "
    code += "sys.argv in (['acer', *line.split()] for line in sys.argv[1:])]))"
    lines = [line for _, some in LIGHT for line in some]
    environment = {**os.environ, "PYTHONPATH": str(Path(acer_tf.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, *lines], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    found = dict(zip(lines, json.loads(done.stdout.splitlines()[-1]), strict=True))
    large: set[str] = set()
    for names, some in reversed(LIGHT):
        large |= names
        assert [(line, name) for line in some for name in large if name in found[line][1]] == []
    assert [status for status, _ in found.values()] == [0, 0, *[2] * (len(lines) - 2)]
    errors = done.stderr.splitlines()
    assert len(errors) == len(lines) - 2 and all(line.startswith("error: ") for line in errors)
    assert "BreakoutNoFrameskip-v4" in errors[-2]


def test_the_package_runs_as_a_module() -> None:
    words = ["evaluate", "--help"]
    done = subprocess.run([sys.executable, "-m", "acer_tf", *words], capture_output=True, text=True, check=True)
    assert "Usage: python -m acer_tf evaluate" in done.stdout


def test_the_console_script_is_installed() -> None:
    scripts = importlib.metadata.entry_points(group="console_scripts", name="acer")
    if not scripts:
        pytest.skip("not installed, or before the script existed")
    assert {script.value for script in scripts} == {"acer_tf.__main__:main"}


def in_session(session: int) -> list[int]:
    found = []
    for pid in psutil.pids():
        try:
            found += [pid] * (os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_all_processes_ends_them_and_prints_the_command_that_goes_on(
    tmp_path: Path, signum: int, status: int
) -> None:
    words = [
        "-m",
        "acer_tf",
        "run",
        "--env",
        "Acrobot-v1",
        "--vectorization",
        "async",
        "--num_env",
        "2",
        "--log_interval",
    ]
    words += ["5", "--replay_ratio", "0", "--total_timesteps", "1e8", "--logdir", str(tmp_path / "run")]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not (tmp_path / "run" / "progress.csv").exists():
            assert process.poll() is None
            time.sleep(0.2)
        assert len(in_session(process.pid)) >= 3
        os.killpg(process.pid, signum)  # as a terminal, or `timeout`, which signals the process itself, too
        process.send_signal(signum)
        out, err = process.communicate(timeout=60)
    assert process.returncode == status and "Traceback" not in err
    assert f"resume with: {sys.executable} -m acer_tf run --env Acrobot-v1" in out
    end = time.monotonic() + 10
    while in_session(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert in_session(process.pid) == []
