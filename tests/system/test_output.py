import subprocess
import sys

import pytest

PRINTS = """
import contextlib, os, sys, warnings
from rich.progress import Progress
from rich.console import Console
from acer_tf.system.output import keep_output_open
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
        "import sys; from acer_tf.system.output import keep_output_open; keep_output_open(); print('a'); "
        "print('\\N{SNOWMAN}', file=sys.stderr); print('b'); print('c', end='')"
    )
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    assert (ended.returncode, ended.stdout) == (0, "a\n\\u2603\nb\nc")


def test_streams_that_the_caller_redirected_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    from acer_tf.system.output import keep_output_open

    before = sys.stdout, sys.stderr
    keep_output_open()
    assert (sys.stdout, sys.stderr) == before
