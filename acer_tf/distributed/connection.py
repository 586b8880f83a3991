"""Connects this process to Ray, on this machine alone or on a cluster, with token authentication."""

import contextlib
import importlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from types import ModuleType

from acer_tf.distributed.access import MODE, TOKEN, check_access, check_address, token_variables
from acer_tf.errors import InputError, require

OBJECT_STORE_BYTES = 256 * 2**20
"""Shared memory of a Ray that is started here."""
FOLDER = "RAY_TMPDIR"
"""Ray's variable for the folder of its sockets and logs."""

_NO_STATISTICS = {"RAY_USAGE_STATS_ENABLED": "0"}


@contextlib.contextmanager
def connected(address: str | None = None, cpus: int | None = None) -> Iterator[ModuleType]:
    """Connects to Ray while the block runs, and yields the module `ray`.

    Without an address, Ray starts on this machine, and ends with the block or with this process. It has a token of its
    own unless the user has one (see `token_variables`), no dashboard, and sends no statistics. Its logs are in a
    temporary folder that is removed at the end, or, if RAY_TMPDIR is set, there, and are kept.

    A process that is connected already keeps its connection, if the cluster there is authenticated as well: one that
    this function made ends with the last of the blocks that use it, the user's own never. The variables of
    authentication stay set in this process: Ray reads them once, when it is imported.

    Args:
        address: HOST:PORT of the head of a running cluster, one of whose nodes this machine is; None starts Ray here.
        cpus: number of processors that a Ray started here gives to tasks and actors; None counts those of the machine.

    Raises:
        InputError: Ray is not installed, was imported without authentication, or does not start; the cluster does not
            answer, requires no token or another one; this machine is not one of its nodes.
    """
    require("ray", "clusters and collectors need", "ray")
    if address is not None:
        check_address(address)
    # Before Ray is imported: it reads the variables of authentication once.
    variables = token_variables(is_new=address is None)
    if address is not None:
        check_access(address, variables[TOKEN])
    ray = _imported(variables)
    with _CONNECTION.used():
        if ray.is_initialized():
            check_access(ray.get_runtime_context().gcs_address, variables[TOKEN])
        else:
            _CONNECTION.open(ray, address, cpus)
        yield ray


class _Connection:
    """Connection of this process, as far as this module opened it, with the number of blocks that use it."""

    def __init__(self) -> None:
        self._opened, self._users = contextlib.ExitStack(), 0
        self._lock = threading.RLock()  # re-entrant: an agent that is collected as garbage ends its use at any line

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Counts a user of the connection; the last one closes what was opened."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._opened.close()

    def open(self, ray: ModuleType, address: str | None, cpus: int | None) -> None:
        """Connects to a cluster, or starts Ray here, see `connected`."""
        arguments: dict[str, object] = {"address": address}
        if address is None:
            arguments = {"address": "local", "num_cpus": cpus, "object_store_memory": OBJECT_STORE_BYTES}
            arguments["include_dashboard"] = False
            # Sockets and logs of a Ray that ends with its users need not outlive it.
            if FOLDER not in os.environ:
                folder = tempfile.TemporaryDirectory(prefix="acer-ray-", ignore_cleanup_errors=True)
                arguments["_temp_dir"] = self._opened.enter_context(folder)
        self._opened.callback(ray.shutdown)
        # ray.init takes SIGTERM for itself, but a run saves on it.
        with _same_sigterm():
            try:
                ray.init(log_to_driver=False, logging_level="WARNING", **arguments)
            except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                where = "on this machine" if address is None else f"at {address}"
                raise InputError(f"no connection to Ray {where}: {' '.join(str(error).split())}") from error


_CONNECTION = _Connection()


def _imported(variables: Mapping[str, str]) -> ModuleType:
    """Imports Ray with variables that it, and every process that it starts, reads once."""
    ray = sys.modules.get("ray")
    if ray is not None and not ray.is_initialized() and os.environ.get(MODE, "").lower() != variables[MODE]:
        raise InputError(
            f"Ray was imported before its token authentication was switched on; set {MODE}={variables[MODE]} in the "
            "environment of this process, or leave the import to this package."
        )
    os.environ.update({**_NO_STATISTICS, **variables})
    return importlib.import_module("ray")


@contextlib.contextmanager
def _same_sigterm() -> Iterator[None]:
    """Restores the handler of SIGTERM, which `ray.init` replaces by one that exits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
