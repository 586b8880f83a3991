import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from acer_tf.envs.atari.pool import AtariPool

PONG = "PongNoFrameskip-v4"


@pytest.fixture
def pool() -> Iterator[AtariPool]:
    pool = AtariPool(PONG, 3, num_workers=2)
    pool.reset(seed=0)
    yield pool
    pool.close()


def workers() -> list[BaseProcess]:
    """Returns the workers, that of the lowest environments first."""
    return sorted(multiprocessing.active_children(), key=lambda process: process.name)


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm"))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_close_leaves_nothing_behind() -> None:
    before = shared_memory()
    pool = AtariPool(PONG, 3, num_workers=2)
    pool.reset(seed=0)
    pids = [worker.pid for worker in workers()]
    assert len(pids) == 2
    assert pool._workers is not None
    pool._workers.send("step")  # not answered yet
    pool.close()
    assert workers() == []
    assert not any(is_alive(pid) for pid in pids)
    assert shared_memory() <= before


def test_no_more_workers_than_environments() -> None:
    pool = AtariPool(PONG, 1, num_workers=5)
    pool.reset()
    assert len(workers()) == 1
    pool.close()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_left_to_the_parent(pool: AtariPool, signum: int) -> None:
    for worker in workers():
        os.kill(worker.pid, signum)
    pool.step([0, 0, 0])
    assert len(workers()) == 2


def test_workers_do_not_load_tensorflow(pool: AtariPool) -> None:
    for worker in workers():
        loaded = Path(f"/proc/{worker.pid}/maps").read_text()
        assert "_ale_py" in loaded
        assert "tensorflow" not in loaded


def test_workers_do_not_run_the_program_again(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "print('program', flush=True)\n"
        "from acer_tf.envs.atari.pool import AtariPool\n"
        f"pool = AtariPool('{PONG}', 2, num_workers=2)\n"
        "pool.reset()\n"
        "pool.step([0, 0])\n"
        "pool.close()\n"
        "import __main__\n"
        "print(__main__.__file__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert (result.stdout, result.stderr) == (f"program\n{script}\n", "")


def test_workers_end_when_the_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import multiprocessing, time\n"
        "from acer_tf.envs.atari.pool import AtariPool\n"
        "if __name__ == '__main__':\n"
        f"    pool = AtariPool('{PONG}', 2, num_workers=2)\n"
        "    pool.reset()\n"
        "    print(*(child.pid for child in multiprocessing.active_children()), flush=True)\n"
        "    time.sleep(100)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2 and all(map(is_alive, pids))
        parent.kill()
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))
