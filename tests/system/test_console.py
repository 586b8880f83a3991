import ast
import fcntl
import io
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from acer_tf.system import console
from acer_tf.system.console import counted, in_bytes, keep_output_open, printable, say

PRINTS = """
import contextlib, os, sys, warnings
from rich.progress import Progress
from rich.console import Console
from acer_tf.system.console import keep_output_open
keep_output_open()
keep_output_open()
for stream in (sys.stdout, sys.stderr):
    for _ in range(3):
        print("x" * 9000, file=stream)
    print("not flushed", end="", file=stream)
warnings.warn("a warning")
with Progress(console=Console(stderr=True, force_terminal=True)) as bar:
    bar.advance(bar.add_task("", total=1))
log = open("log", "w")
assert log.fileno() > 2
with contextlib.suppress(OSError):
    os.write(1, b"as C code prints")
log.close()
assert os.stat("log").st_size == 0
{end}
"""


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
from acer_tf.system.console import quiet_tensorflow
with quiet_tensorflow():
    import tensorflow
print("after", file=sys.stderr)
"""


def test_text_goes_where_it_belongs(capsys: pytest.CaptureFixture[str]) -> None:
    say("out")
    say("error", is_error=True)
    assert tuple(capsys.readouterr()) == ("out\n", "error\n")


def test_a_full_disk_or_a_closed_pipe_behind_the_stream_ends_nothing(tmp_path: Path) -> None:
    program = "import os, sys; from acer_tf.system.console import say; [say('x' * 9000) for _ in range(3)]; os._exit(7)"
    with open("/dev/full", "w") as full:
        assert subprocess.run([sys.executable, "-c", program], stdout=full).returncode == 7
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        process.stdout.close()
    assert process.returncode == 7


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (512, "512 bytes"),
        (1536, "1.5 KiB"),
        (3 * 2**19, "1.5 MiB"),
        (2**30 - 2**20, "1023.0 MiB"),
        (5 * 2**29, "2.50 GiB"),
    ],
)
def test_numbers_of_bytes_have_sensible_units(number: int, text: str) -> None:
    assert in_bytes(number) == text


@pytest.mark.parametrize(
    ("streams", "end", "status"),
    [
        (">/dev/full 2>/dev/full", "", 0),
        (">&- 2>&-", "sys.exit(69)", 69),
        ("<&- >&- 2>&-", "", 0),
        ("2>&1 | true", "1 / 0", 1),
        ("2>&1 | head -1", "", 0),
    ],
)
def test_no_stream_breaks_a_process(tmp_path: object, streams: str, end: str, status: int) -> None:
    command = f'set -o pipefail; "$0" -c "$1" {streams}'
    words = ["bash", "-c", command, sys.executable, PRINTS.format(end=end)]
    assert subprocess.run(words, cwd=str(tmp_path), stdout=subprocess.DEVNULL).returncode == status


def test_what_can_be_printed_is_and_in_order() -> None:
    program = (
        "import sys; from acer_tf.system.console import keep_output_open; keep_output_open(); print('a'); "
        "print('\\N{SNOWMAN}', file=sys.stderr); print('b'); print('c', end='')"
    )
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    assert (ended.returncode, ended.stdout) == (0, "a\n\\u2603\nb\nc")


def test_streams_that_the_caller_redirected_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    keep_output_open()
    assert (sys.stdout, sys.stderr) == before


def errors(folder: Path, last: str = "", level: str | None = None, program: str = PROGRAM) -> tuple[int, list[str]]:
    """Exit status, and the lines on standard error, of a program that imports a TensorFlow."""
    (folder / "tensorflow.py").write_text(TENSORFLOW.format(last=last))
    environment = {"PYTHONPATH": f"{folder}:{Path(console.__file__).parents[2]}"}
    environment |= {} if level is None else {console.TENSORFLOW_LOG_LEVEL: level}
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
from acer_tf.system.console import quiet_tensorflow
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


def test_text_of_others_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable("a\x1b[31m\r\x9b\u202eä\ud800\nb") == "a\\x1b[31m\\r\\x9b\\u202eä\\ud800\nb"
    say("\x1b]0;title\x07")
    assert capsys.readouterr().out == "\\x1b]0;title\\x07\n"


def test_things_are_counted() -> None:
    assert [counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


FLOOD = """
import sys, time
from acer_tf.system.console import keep_output_open, never_wait, say
keep_output_open()
platform, sys.platform = sys.platform, sys.argv[2]
never_wait()
never_wait()
sys.platform = platform
for number in range(20_000):
    say(f"{number:06d}")
print("written", file=open(sys.argv[1], "w"), flush=True)
sys.stdin.readline()
say("again")
say("and again")
"""


def flags(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("kind", ["pipe", "terminal", "stopped terminal"])
def test_what_nobody_reads_is_dropped_and_counted(tmp_path: Path, kind: str, platform: str) -> None:
    """The last line tells how many lines are missing, and other processes' view of the stream is unchanged."""
    reader, writer = os.pipe() if kind == "pipe" else pty.openpty()
    if kind == "stopped terminal":
        termios.tcflow(writer, termios.TCOOFF)  # Ctrl-S
    before, said = flags(writer), tmp_path / "said"
    words = [sys.executable, "-c", FLOOD, str(said), platform]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=writer, text=True) as process:
        deadline = time.monotonic() + 60
        while not said.exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        if kind == "stopped terminal":
            termios.tcflow(writer, termios.TCOON)
        output, os_flags = b"", flags(writer)
        while select.select([reader], [], [], 0.5)[0]:
            output += os.read(reader, 65536)
        process.communicate("\n", timeout=60)
        while select.select([reader], [], [], 0.5)[0]:
            output += os.read(reader, 65536)
    os.close(writer)
    os.close(reader)
    lines = output.decode().replace("\r", "").splitlines()
    shown = [int(line) for line in lines if line.isdecimal() and len(line) == 6]
    assert shown == list(range(len(shown))) and os_flags == before
    (missing,) = (int(line.split()[0][1:]) for line in lines if "missing here: nobody read them]" in line)
    assert abs(20_000 - len(shown) - missing) <= 1, "a line may be cut, or miss its end"
    assert lines[-2:] == ["again", "and again"]


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_slow_reader_gets_every_line(tmp_path: Path, platform: str) -> None:
    program = FLOOD.replace("say(f", "time.sleep(0.0001 * (number % 100 == 0)); say(f")
    words = [sys.executable, "-c", program, str(tmp_path / "said"), platform]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate("\n", timeout=60)
    assert output.splitlines() == [*(f"{number:06d}" for number in range(20_000)), "again", "and again"]


def test_all_output_of_the_package_goes_through_say() -> None:
    """Which escapes what others' texts could do to a terminal; tables have styles, and escape their cells."""
    root = Path(console.__file__).parents[1]
    calls = {
        f"{path.relative_to(root)}:{node.lineno}"
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {call.partition(":")[0] for call in calls} == {"system/console.py", "cli/output.py"}, calls


def test_characters_that_a_stream_cannot_encode_are_shown_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a path that is not in the encoding of the machine."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    say("saved in /r\u00f6/\udcff")
    assert raw.getvalue() == rb"saved in /r\xf6/\udcff" + b"\n"


@pytest.mark.parametrize("is_error", [False, True])
def test_a_missing_or_closed_stream_loses_the_text(is_error: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        say("hello", is_error=is_error)
