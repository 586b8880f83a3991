"""Program of the process that watches over a training; the watchdog starts it.

It counts the seconds without a heartbeat on standard input. When there are too many, it has the watched process show
its stacks and end. It needs nothing of that process but signals and a pipe, so it also works while the interpreter
there is blocked. It ends with the watched process.

Arguments: pid of the watched process, seconds, number of the signal that shows the stacks.
"""

import contextlib
import os
import signal
import sys
import time

DUMP_SECONDS = 1.0
"""For writing the stacks."""


def supervise(pid: int, seconds: float, show_stacks: int) -> None:
    """Ends the process when it has given no sign of life for so long; returns when it has ended by itself."""
    os.set_blocking(0, False)
    tick, waited = min(1.0, seconds / 4), 0.0  # counted in ticks: while this process was stopped, too, nobody waited
    while waited <= seconds:
        time.sleep(tick)
        beats = _read()
        if beats == b"" or os.getppid() != pid:
            return
        if beats:
            waited = 0.0
        elif not _is_stopped(pid):
            waited += tick
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, show_stacks)
        time.sleep(DUMP_SECONDS)
        _print(f"error: nothing has moved for {seconds:g} s; above are the stacks of all threads")
        os.write(1, b"!")  # the watched process exits
        time.sleep(DUMP_SECONDS)
        if os.getppid() == pid:  # where its C library could not be asked to
            os.kill(pid, signal.SIGKILL)


def _read() -> bytes | None:
    """Returns the heartbeats since the last call; None without any, nothing if the other end of the pipe is closed."""
    try:
        return os.read(0, 1 << 16)
    except BlockingIOError:
        return None


def _is_stopped(pid: int) -> bool:
    """Returns whether a process was stopped by a signal; False where that cannot be found out."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in ("T", "t")
    except OSError:
        return False


def _print(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())


if __name__ == "__main__":
    supervise(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
