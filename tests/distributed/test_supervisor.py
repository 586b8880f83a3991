import os
import platform
import signal
import threading
import time
from pathlib import Path

import pytest

from acer_tf.distributed import supervisor
from acer_tf.distributed.supervisor import Ended, Program, is_running, new_heartbeat, supervise


def program(folder: Path, *words: str) -> Program:
    return Program(words, folder, folder / "a.log", folder / "a.heartbeat", new_heartbeat(folder / "a.heartbeat"))


def python(code: str) -> tuple[str, ...]:
    return ("timeit", "-n1", "-r1", code)


def test_the_return_code_is_the_programs(tmp_path: Path) -> None:
    host = platform.node()
    assert supervise(program(tmp_path, *python("import os; print(os.getcwd())"))) == Ended(0, host)
    assert (tmp_path / "a.log").read_text().startswith(str(tmp_path))
    assert supervise(program(tmp_path, *python("import os; os._exit(69)"))) == Ended(69, host)
    assert supervise(program(tmp_path, *python("import os; os.kill(os.getpid(), 9)"))) == Ended(-9, host)
    assert is_running(tmp_path / "a.heartbeat")
    assert f"on {host}, process {os.getpid()}" in (tmp_path / "a.heartbeat").read_text()


def test_a_heartbeat_that_is_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "a.heartbeat").symlink_to(tmp_path / "target")
    one = program(tmp_path, *python("0"))
    assert (tmp_path / "target").read_text() == "precious"
    one.heartbeat.unlink()
    one.heartbeat.symlink_to(tmp_path / "target")
    (tmp_path / "target").write_text(f"waiting {one.ticket}\n")
    assert supervise(one).returncode == 0
    assert (tmp_path / "target").read_text() == f"waiting {one.ticket}\n"


def test_a_node_without_the_folder_is_named(tmp_path: Path) -> None:
    host, one = platform.node(), program(tmp_path, *python("0"))
    (tmp_path / "a.heartbeat").write_text("waiting another\n")
    ended = supervise(one)
    assert ended.returncode is None
    assert ended.reason == f"{tmp_path} on {host} is not the folder of the sweep; every node needs it at the same path."
    (tmp_path / "a.heartbeat").unlink()
    assert "is not the folder of the sweep" in supervise(one).reason
    ended = supervise(program(tmp_path, *python("0"))._replace(folder=tmp_path / "none"))
    assert (
        ended.reason == f"{tmp_path}/none does not exist on {host}; start the sweep from a folder that every node has."
    )
    ended = supervise(program(tmp_path, *python("0"))._replace(log=tmp_path / "none" / "a.log"))
    assert ended.reason == f"No such file or directory on {host}: {tmp_path}/none/a.log"
    assert not (tmp_path / "a.log").exists()


def test_each_interrupt_is_passed_on_and_beats_go_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "HEARTBEAT_SECONDS", 0.3)
    code = (
        "import signal, sys, time\n"
        "seen = []\n"
        "signal.signal(signal.SIGTERM, lambda number, frame: seen.append(1))\n"
        "print('ready', flush=True)\n"
        "while len(seen) < 2: time.sleep(0.01)"
    )
    one, heartbeats = program(tmp_path, *python(code)), set()

    def interrupt_twice() -> None:
        while "ready" not in ((tmp_path / "a.log").read_text() if (tmp_path / "a.log").exists() else ""):
            time.sleep(0.01)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(8):
                time.sleep(0.1)
                heartbeats.add(one.heartbeat.stat().st_mtime_ns)
            one.heartbeat.rename(tmp_path / "gone")  # ends nothing
            time.sleep(0.5)
            (tmp_path / "gone").rename(one.heartbeat)

    thread, handler = threading.Thread(target=interrupt_twice), signal.getsignal(signal.SIGINT)
    thread.start()
    ended = supervise(one)
    thread.join()
    assert ended.returncode == 0
    assert len(heartbeats) > 1
    assert signal.getsignal(signal.SIGINT) is handler
