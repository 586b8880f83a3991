import subprocess
import sys
from pathlib import Path

import pytest

from acer_tf.system import tensorflow_import

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
from acer_tf.system.tensorflow_import import quiet_tensorflow
with quiet_tensorflow():
    import tensorflow
print("after", file=sys.stderr)
"""


def errors(folder: Path, last: str = "", level: str | None = None, program: str = PROGRAM) -> tuple[int, list[str]]:
    """Exit status, and the lines on standard error, of a program that imports a TensorFlow."""
    (folder / "tensorflow.py").write_text(TENSORFLOW.format(last=last))
    environment = {"PYTHONPATH": f"{folder}:{Path(tensorflow_import.__file__).parents[2]}"}
    environment |= {} if level is None else {tensorflow_import.TENSORFLOW_LOG_LEVEL: level}
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


def test_a_failed_start_shows_all(tmp_path: Path) -> None:
    status, shown = errors(tmp_path, "raise ImportError('no AVX')")
    assert status == 1
    assert set(SHOWN) <= set(shown)
    assert sum("cudart_stub" in line or "oneDNN" in line or "cuInit" in line for line in shown) == 3
    assert "ImportError: no AVX" in shown


def test_a_crash_shows_where(tmp_path: Path) -> None:
    program = f"from acer_tf.system.console import keep_output_open\nkeep_output_open()\n{PROGRAM}"
    status, shown = errors(tmp_path, "os.abort()", program=program)
    assert status == -6
    assert shown[0] == "Fatal Python error: Aborted"
    assert any("tensorflow.py" in line for line in shown)


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
from acer_tf.system.tensorflow_import import quiet_tensorflow
os.close(2)
with quiet_tensorflow(is_command=False):
    os._exit(7)
"""
    assert errors(tmp_path, program=program) == (7, [])


def test_what_a_command_does_not_need_is_not_imported_with_tensorflow_but_can_be_afterwards(tmp_path: Path) -> None:
    tried = "try:\n    import matplotlib\nexcept ImportError:\n    print('done without', file=sys.stderr)"
    status, shown = errors(tmp_path, tried, program=f"{PROGRAM}\nimport matplotlib.pyplot")
    assert (status, shown) == (0, [*SHOWN, "done without", "after"])
    of_a_script = PROGRAM.replace("quiet_tensorflow()", "quiet_tensorflow(is_command=False)")
    assert errors(tmp_path, tried, program=of_a_script) == (0, [*SHOWN, "after"])


def test_garbage_is_collected_again_once_tensorflow_is_imported(tmp_path: Path) -> None:
    told = "import gc; print('collects', gc.isenabled(), file=sys.stderr)"
    _, shown = errors(tmp_path, told, program=f"{PROGRAM}\n{told}")
    assert [line for line in shown if "collects" in line] == ["collects False", "collects True"]
    _, shown = errors(tmp_path, program=f"import gc; gc.disable()\n{PROGRAM}\n{told}")
    assert shown[-1] == "collects False"


def test_what_was_imported_with_tensorflow_is_not_looked_through_again(tmp_path: Path) -> None:
    told = "import gc; print('frozen', gc.get_freeze_count() > 0, file=sys.stderr)"
    assert errors(tmp_path, program=f"{PROGRAM}\n{told}")[1][-1] == "frozen True"
    assert errors(tmp_path, program=f"import tensorflow\n{PROGRAM}\n{told}")[1][-1] == "frozen False"
    of_a_script = PROGRAM.replace("quiet_tensorflow()", "quiet_tensorflow(is_command=False)")
    assert errors(tmp_path, program=f"{of_a_script}\n{told}")[1][-1] == "frozen False"


def test_a_library_that_has_been_imported_is_left_alone(tmp_path: Path) -> None:
    status, shown = errors(tmp_path, program=f"import tensorflow\n{PROGRAM}")
    assert status == 0
    assert len(shown) == ALL
