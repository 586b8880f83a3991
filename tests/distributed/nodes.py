"""A cluster of three nodes on this machine, in a process of its own: a head without processors and two with one each.

It prints its address, then a line after every command that it reads: `remove PID` removes the node of this raylet
and adds another, `fill` fills the shared memory of all nodes. It ends with its standard input.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
STORE_BYTES = 80 * 2**20
TOKEN = "a-token-for-tests"
AUTHENTICATION = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}


class Nodes:
    """The process that is the cluster, seen from a test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._line()

    def tell(self, command: str) -> None:
        """Has a command carried out."""
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        assert self._line() == "ok"

    def _line(self) -> str:
        return self._process.stdout.readline().strip()


def variables(folder: Path) -> dict[str, str]:
    """The environment of everything that belongs to the cluster."""
    own = {"RAY_TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return os.environ | AUTHENTICATION | own


@contextlib.contextmanager
def nodes(folder: Path) -> Iterator[Nodes]:
    """Runs a cluster; `folder` is for Ray's files, with a path that is short enough for its sockets."""
    with (folder / "cluster.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.distributed.nodes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
            env=variables(folder),
        )
    try:
        yield Nodes(process)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def _fill(ray: object) -> list[object]:
    """Returns references to as much as two nodes hold; Ray moves what is older to its disk."""
    import numpy as np

    @ray.remote(num_cpus=0, scheduling_strategy="SPREAD")
    def some() -> object:
        return np.ones(STORE_BYTES // 4, np.uint8)

    tasks = [some.remote() for _ in range(16)]
    ray.wait(tasks, num_returns=len(tasks))
    return tasks


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Ray prints is no answer
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    size = {"object_store_memory": STORE_BYTES, "include_dashboard": False}
    cluster.add_node(num_cpus=0, **size)
    for _ in range(2):
        cluster.add_node(num_cpus=1, **size)
    print(cluster.address, file=answers)
    held: list[object] = []  # a second fill replaces the first
    for line in sys.stdin:
        command, *pid = line.split()
        if command == "fill":
            ray.init(cluster.address, log_to_driver=False, ignore_reinit_error=True)
            held[:] = _fill(ray)
        elif command == "remove":
            by_raylet = {node.all_processes["raylet"][0].process.pid: node for node in cluster.worker_nodes}
            cluster.remove_node(by_raylet[int(pid[0])], allow_graceful=False)
            cluster.add_node(num_cpus=1, **size)
        print("ok", file=answers)
    if ray.is_initialized():
        ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
