import subprocess
import sys
import time
from pathlib import Path

import pytest

from acer_tf.storage.run_files import USAGE
from acer_tf.storage.usage import Meter, read_processor_seconds

HEADER = "begin,end,seconds,processor_seconds\n"


def test_a_row_has_the_time_since_the_meter_was_made(tmp_path: Path) -> None:
    meter = Meter()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    meter.note(tmp_path, 0, 100)
    assert (tmp_path / USAGE).read_text().startswith(f"{HEADER}0,100,")
    used = read_processor_seconds(tmp_path, 100)
    assert used is not None and 0.19 <= used < 2
    meter.note(tmp_path, 100, 150)
    assert (tmp_path / USAGE).read_text().count("\n") == 3


def test_child_processes_count(tmp_path: Path) -> None:
    meter = Meter()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    child = subprocess.Popen([sys.executable, "-c", f"{busy}\nprint(flush=True)\ninput()"], stdin=-1, stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()  # it is busy no longer, and still there
    meter.note(tmp_path, 0, 1)
    child.communicate(b"\n")
    used = read_processor_seconds(tmp_path, 1)
    assert used is not None and used >= 0.58


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        ("0,100,1,2\n100,300,1,3\n", 5.0),
        ("0,100,1,2\n90,300,1,3\n", None),  # the process after the first one was killed, and left no row
        ("100,300,1,3\n", None),
        ("0,200,1,2\n", None),  # the run has gone on
        ("", None),
    ],
)
def test_the_time_of_a_run_is_known_if_no_process_is_missing(tmp_path: Path, rows: str, seconds: float | None) -> None:
    (tmp_path / USAGE).write_text(HEADER + rows)
    assert read_processor_seconds(tmp_path, 300) == seconds


@pytest.mark.parametrize("damaged", [b"a,b,c,d\n", b"0,1", b"\xff\xfe\n", b"0,1,2,3,4,5\n0"])
def test_what_a_damaged_file_says_is_not_known_and_its_whole_rows_stay(tmp_path: Path, damaged: bytes) -> None:
    assert read_processor_seconds(tmp_path, 1) is None
    (tmp_path / USAGE).write_bytes(HEADER.encode() + damaged)
    assert read_processor_seconds(tmp_path, 2) is None
    Meter().note(tmp_path, 1, 2)
    lines = (tmp_path / USAGE).read_bytes().splitlines()
    whole = damaged[: damaged.rfind(b"\n") + 1].splitlines()
    assert lines[:-1] == [HEADER.strip().encode(), *whole] and lines[-1].startswith(b"1,2,")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious\n")
    (tmp_path / USAGE).symlink_to(tmp_path / "target")
    Meter().note(tmp_path, 0, 2)
    assert (tmp_path / "target").read_text() == "precious\n"
