"""A Logger distributes the metrics of a run to sinks, one per file or terminal."""

from collections.abc import Iterable, Mapping, Sequence

from acer_tf.segment import Episode


class Sink:
    """One destination of metrics and episodes; every method does nothing until a subclass overrides it."""

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row of metrics; called every `log_interval` iterations, with the same names every time."""

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Records the episodes that ended in an iteration; called once per iteration, before `progress`."""

    def progress(self, steps: int) -> None:
        """Records the agent steps so far, over all environments; called once per iteration."""

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Records an evaluation of the agent as it was after this many agent steps."""

    def state_dict(self) -> dict[str, int]:
        """Returns the size in bytes of what has been written, under the file's name.

        Raises:
            OSError: the disk is full or cannot be written.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Drops what was written after `state_dict`; the state may hold the files of other sinks, too."""

    def close(self) -> None:
        """Closes files and restores the terminal; may be called again."""


class Logger(Sink):
    """Passes every call on to its sinks, in their order; `Logger()` logs nothing."""

    def __init__(self, sinks: Iterable[Sink] = ()) -> None:
        self._sinks = tuple(sinks)

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row of metrics to every sink."""
        for sink in self._sinks:
            sink.write(values)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Records finished episodes in every sink."""
        for sink in self._sinks:
            sink.episodes(episodes)

    def progress(self, steps: int) -> None:
        """Records the agent steps so far in every sink."""
        for sink in self._sinks:
            sink.progress(steps)

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Records an evaluation in every sink."""
        for sink in self._sinks:
            sink.evaluation(steps, values)

    def state_dict(self) -> dict[str, int]:
        """Returns the sizes of all files by name."""
        return {name: size for sink in self._sinks for name, size in sink.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Cuts the files of all sinks back to these sizes."""
        for sink in self._sinks:
            sink.load_state_dict(state)

    def close(self) -> None:
        """Closes every sink."""
        for sink in self._sinks:
            sink.close()
