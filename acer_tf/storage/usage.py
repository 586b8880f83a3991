"""usage.csv, the time used by each process of a run, with a row added at its end."""

import contextlib
import csv
import io
import time
from pathlib import Path

import psutil

from acer_tf.storage.durable import read_bounded, replace
from acer_tf.storage.run_files import USAGE

LARGEST = 2**24
"""Most bytes of the file to read."""
COLUMNS = ("begin", "end", "seconds", "processor_seconds")


class Meter:
    """Measures the time used by this process and its children from now on."""

    def __init__(self) -> None:
        """Begins measuring."""
        self._began = time.monotonic()
        self._used = processor_seconds()

    def note(self, folder: Path, begin: int, end: int) -> None:
        """Adds a row to the run folder's file.

        Args:
            folder: run folder.
            begin: agent steps of the run when this process started or resumed it.
            end: agent steps now.

        Raises:
            OSError: the file cannot be written.
        """
        path = folder / USAGE
        rows = path.read_bytes() if path.is_file() else b""
        whole = rows[: rows.rfind(b"\n") + 1] or f"{','.join(COLUMNS)}\n".encode()
        used = f"{time.monotonic() - self._began:.3f},{processor_seconds() - self._used:.3f}"
        replace(path, whole + f"{begin},{end},{used}\n".encode())


def read_processor_seconds(folder: Path, end: int) -> float | None:
    """Returns the processor time of a run, or None if unknown.

    It is unknown if a process left no row, for instance a killed one, or if the file is missing or damaged.

    Args:
        folder: run folder.
        end: agent steps of the run.

    Raises:
        InputError: the file cannot be read.
    """
    path = folder / USAGE
    if not path.exists():
        return None
    content = read_bounded(path, LARGEST)
    try:
        table = csv.DictReader(io.StringIO(content.decode()))
        rows = [(int(r["begin"]), int(r["end"]), float(r["processor_seconds"])) for r in table]
    except (KeyError, TypeError, ValueError, csv.Error):
        return None
    at, used = 0, 0.0
    for begin, until, seconds in rows:
        if begin != at:
            return None
        at, used = until, used + seconds
    return used if at >= end else None


def processor_seconds() -> float:
    """Returns the processor time of this process and its children, ended and running."""
    process = psutil.Process()
    own = process.cpu_times()
    used = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = child.cpu_times()
            used += times.user + times.system
    return float(used)
