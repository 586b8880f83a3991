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
