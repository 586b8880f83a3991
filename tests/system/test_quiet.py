import subprocess
import sys
from pathlib import Path

import pytest

from acer_tf.system import quiet

TENSORFLOW = """
import os, sys
os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\\n")
os.write(2, b"I0000 00:00:1795371879.771024   12758 cudart_stub.cc:31] Could not find cuda drivers\\n")
os.write(2, b"2026-11-22 18:20:00.123456: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.\\n")
os.write(2, b"To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow\\n")
os.write(2, b"E0000 00:00:1.0 12758 cuda_platform.cc:52] failed call to cuInit: INTERNAL: UNKNOWN ERROR (303)\\n")
os.write(2, b"E0000 00:00:1.0 12758 gpu.cc:1] an error that matters\\n")
print("Python's own", file=sys.stderr, flush=True)
{last}
uint8 = "uint8"
def zeros(shape, dtype):
    return dtype
def transpose(images):
    os.write(2, b"E0000 00:00:1.0 22203 util.cc:131] oneDNN supports DT_UINT8 only on platforms with AVX-512.\\n")
class config:
    @staticmethod
    def list_logical_devices():
        os.write(2, b"W0000 00:00:1.0 12758 gpu.cc:1] found out while looking for devices\\n")
"""
"""Greets as TensorFlow does; importing the real one takes seconds."""
SHOWN = ["E0000 00:00:1.0 12758 gpu.cc:1] an error that matters", "Python's own"]
ALL = 10
"""Lines, where nothing is hidden."""
PROGRAM = """
import sys
from acer_tf.system.quiet import quiet_tensorflow
with quiet_tensorflow():
    import tensorflow
print("after", file=sys.stderr)
"""


def errors(folder: Path, last: str = "", level: str | None = None, program: str = PROGRAM) -> tuple[int, list[str]]:
    """Exit status, and the lines on standard error, of a program that imports a TensorFlow."""
    (folder / "tensorflow.py").write_text(TENSORFLOW.format(last=last))
    environment = {"PYTHONPATH": f"{folder}:{Path(quiet.__file__).parents[2]}"}
    environment |= {} if level is None else {quiet.LEVEL: level}
    done = subprocess.run([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("level", [None, "2", "3"])
def test_the_greeting_is_hidden_and_nothing_else(level: str | None, tmp_path: Path) -> None:
    assert errors(tmp_path, level=level) == (0, [*SHOWN, "after"])


def test_whoever_asks_for_the_greeting_gets_it(tmp_path: Path) -> None:
    status, shown = errors(tmp_path, level="0")
    assert status == 0
    assert len(shown) == ALL
    assert shown[-3] == "W0000 00:00:1.0 12758 gpu.cc:1] found out while looking for devices"


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("raise ImportError('no AVX')", 1),
        ("os.abort()", -6),
        ("os.kill(os.getpid(), 14)", -14),  # the watchdog
    ],
)
def test_a_failed_start_shows_all(last: str, status: int, tmp_path: Path) -> None:
    ended, shown = errors(tmp_path, last)
    assert ended == status
    assert set(SHOWN) <= set(shown)
    assert sum("cudart_stub" in line or "oneDNN" in line or "cuInit" in line for line in shown) == 3
    assert ("ImportError: no AVX" in shown) == (status == 1)


def test_ctrl_c_is_no_failure_and_a_line_without_its_end_is_shown(tmp_path: Path) -> None:
    last = "sys.stderr.write('half a line'); raise KeyboardInterrupt"
    _, shown = errors(tmp_path, last)
    assert shown[: len(SHOWN)] == SHOWN
    assert shown[len(SHOWN)].startswith("half a line")
    assert shown[-1] == "KeyboardInterrupt"
    assert not any("cudart_stub" in line for line in shown)


def test_without_standard_error_it_still_starts(tmp_path: Path) -> None:
    program = """
import os
from acer_tf.system.quiet import quiet_tensorflow
os.close(2)
with quiet_tensorflow():
    os._exit(7)
"""
    assert errors(tmp_path, program=program) == (7, [])


def test_a_library_that_has_been_imported_is_left_alone(tmp_path: Path) -> None:
    status, shown = errors(tmp_path, program=f"import tensorflow\n{PROGRAM}")
    assert status == 0
    assert len(shown) == ALL
