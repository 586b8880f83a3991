import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INTERRUPTED_IMPORT = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
except KeyboardInterrupt:
    raise ImportError("a library that cannot be imported") from None
"""
"""As numpy and TensorFlow do, where the interrupt arrives in their C code."""


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("numpy", "acer_tf run --env CartPole-v1"),
        ("numpy", "acer_tf.run --env CartPole-v1"),
        ("gymnasium", "acer_tf.envs"),
        ("tensorflow", "acer_tf evaluate cartpole"),
        ("tensorflow", "acer_tf.evaluate cartpole"),
    ],
)
def test_ctrl_c_while_a_command_imports_a_library(library: str, words: str, tmp_path: Path) -> None:
    (tmp_path / f"{library}.py").write_text(INTERRUPTED_IMPORT)
    done = subprocess.run(
        [sys.executable, "-m", *words.split()],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_sigterm_while_a_command_imports_a_library(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text(
        INTERRUPTED_IMPORT.replace("SIGINT", "SIGTERM").replace("KeyboardInterrupt", "SystemExit")
    )
    done = subprocess.run(
        [sys.executable, "-m", "acer_tf", "evaluate", "cartpole"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_a_script_that_imports_the_package_keeps_its_own_handling() -> None:
    code = "import signal, acer_tf; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
