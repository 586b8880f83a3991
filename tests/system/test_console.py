import subprocess
import sys
from pathlib import Path

import pytest

from acer_tf.system.console import in_bytes, say


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
