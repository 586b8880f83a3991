"""Connects this process to Ray, on this machine or on a cluster, with token authentication."""

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
"""Bytes of shared memory for a Ray that is started here."""
FOLDER = "RAY_TMPDIR"
"""Ray's environment variable for the folder of its sockets and logs."""

_NO_STATISTICS = {"RAY_USAGE_STATS_ENABLED": "0"}


@contextlib.contextmanager
def connected(address: str | None = None, cpus: int | None = None) -> Iterator[ModuleType]:
    """Connects to Ray while the block runs, and yields the module `ray`.

    Without an address, Ray starts on this machine, and ends with the block or with this process. It gets its own token
    unless the user has one (see `token_variables`), has no dashboard, and sends no statistics. Its logs are kept in
    RAY_TMPDIR if that is set, or else in a temporary folder that is removed at the end.

    A process that is already connected keeps its connection, if that cluster is also authenticated. A connection made
    by this function ends with the last block that uses it; the user's own connection never ends. The variables for
    authentication stay set in this process, as Ray reads them once, when it is imported.

    Args:
        address: HOST:PORT of the head of a running cluster of which this machine is a node; None starts Ray here.
        cpus: number of processors that a Ray started here gives to tasks and actors; None takes the machine's.

    Raises:
        InputError: Ray is not installed, was imported without authentication, or does not start; the cluster does not
            answer, requires no token, or requires another one; or this machine is not one of its nodes.
    """
    require("ray", "clusters and collectors need", "ray")
    if address is not None:
        check_address(address)
    # Before Ray is imported, as it reads the variables for authentication only once.
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
    """The connection of this process, if this module opened it, with the number of blocks that use it."""

    def __init__(self) -> None:
        self._opened, self._users = contextlib.ExitStack(), 0
        self._lock = threading.RLock()  # re-entrant: garbage collection of an agent may end its use at any line

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Counts a user of the connection; the last one closes it."""
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
        """Connects to a cluster, or starts Ray here; see `connected`."""
        arguments: dict[str, object] = {"address": address}
        if address is None:
            arguments = {"address": "local", "num_cpus": cpus, "object_store_memory": OBJECT_STORE_BYTES}
            arguments["include_dashboard"] = False
            # Its sockets and logs need not outlive a Ray that ends with its users.
            if FOLDER not in os.environ:
                folder = tempfile.TemporaryDirectory(prefix="acer-ray-", ignore_cleanup_errors=True)
                arguments["_temp_dir"] = self._opened.enter_context(folder)
        self._opened.callback(ray.shutdown)
        # ray.init replaces the handler of SIGTERM, on which a run saves.
        with _same_sigterm():
            try:
                ray.init(log_to_driver=False, logging_level="WARNING", **arguments)
            except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                where = "on this machine" if address is None else f"at {address}"
                raise InputError(f"no connection to Ray {where}: {' '.join(str(error).split())}") from error


_CONNECTION = _Connection()


def _imported(variables: Mapping[str, str]) -> ModuleType:
    """Imports Ray with environment variables that it and every process it starts read once."""
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
