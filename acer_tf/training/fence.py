"""Keeps a run from writing to a folder that another process has taken over."""

from collections.abc import Mapping, Sequence

from acer_tf.logs.logger import Sink
from acer_tf.segment import Episode
from acer_tf.storage.lock import Lease


class Fence(Sink):
    """The first sink of a run's logger: its methods raise SupersededError once the lease is another process's."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def write(self, values: Mapping[str, float]) -> None:
        """Checks the lease before a row of metrics is written."""
        self._lease.check()

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Checks the lease before episodes are recorded."""
        self._lease.check()

    def progress(self, steps: int) -> None:
        """Checks the lease before progress is recorded."""
        self._lease.check()

    def state_dict(self) -> dict[str, int]:
        """Checks the lease before a checkpoint is begun."""
        self._lease.check()
        return {}
