"""Where trials run: as processes of this machine, or on a cluster of Ray."""

from pathlib import Path
from types import ModuleType

from acer_tf.distributed.remote import RemoteProgram
from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import checkpoint_folders
from acer_tf.storage.run_files import CHECKPOINTS
from acer_tf.system.children import start_module
from acer_tf.trials.scheduler import STOPPED_STATUSES, Process, Trial


class LocalEngine:
    """Runs trials as children of this process."""

    def __init__(self, workers: int) -> None:
        """`workers` is the number of trials that run side by side."""
        self._workers = workers

    def slots(self) -> int:
        """Returns the number of workers."""
        return self._workers

    def start(self, trial: Trial) -> Process:
        """Starts a trial."""
        return start_module(trial.command, trial.log)


class RayEngine:
    """Runs trials on the nodes of a cluster, which share the trials' folders."""

    def __init__(self, ray: ModuleType, slots: int | None, cpus: int) -> None:
        """Creates the engine.

        Args:
            ray: the module, connected.
            slots: trials that run side by side over all nodes; None takes as many as the cluster has processors for.
            cpus: processors that a trial takes.

        Raises:
            InputError: no node has so many.
        """
        most = max((int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]), default=0)
        if most < cpus:
            raise InputError(f"trial_cpus is {cpus}, but the largest node of the cluster has {most}.")
        self._ray, self._slots, self._cpus = ray, slots, cpus

    def slots(self) -> int:
        """Returns the given number, or how many trials the nodes that are alive now have room for."""
        return self._slots or int(self._ray.cluster_resources().get("CPU", 0)) // self._cpus

    def start(self, trial: Trial) -> Process:
        """Starts a trial on the first node with room for it."""
        return RemoteProgram(
            self._ray, trial.command, trial.log, self._cpus, _is_temporary, lambda: _newest_checkpoint(trial.folder)
        )


def _is_temporary(returncode: int) -> bool:
    """Whether a trial was killed, or its watchdog ended it: neither is a fault of its settings."""
    return returncode < 0 and returncode not in STOPPED_STATUSES


def _newest_checkpoint(folder: Path) -> str:
    return next((path.name for path in checkpoint_folders(folder / CHECKPOINTS)), "")
