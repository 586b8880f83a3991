"""Where a run's numbers go: a Logger hands them to sinks, one per file or screen."""

from collections.abc import Iterable, Mapping, Sequence

from acer_tf.segment import Episode


class Sink:
    """Takes what training reports; a subclass overrides what it is interested in."""

    def write(self, values: Mapping[str, float]) -> None:
        """Takes one row of statistics, once per `log_interval` iterations, under the same names every time."""

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Takes the episodes that ended in this iteration; comes before `progress`, once per iteration."""

    def progress(self, steps: int) -> None:
        """Takes the agent steps so far, over all environments, once per iteration."""

    def state_dict(self) -> dict[str, int]:
        """Returns how far the sink's file has been written, under the file's name."""
        return {}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Takes what `state_dict` of all sinks returned, and goes on from there."""

    def close(self) -> None:
        """Releases files and screen; may be called again."""


class Logger(Sink):
    """Passes everything on to its sinks, in their order; `Logger()` logs nothing."""

    def __init__(self, sinks: Iterable[Sink] = ()) -> None:
        self._sinks = tuple(sinks)

    def write(self, values: Mapping[str, float]) -> None:
        """See `Sink`."""
        for sink in self._sinks:
            sink.write(values)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """See `Sink`."""
        for sink in self._sinks:
            sink.episodes(episodes)

    def progress(self, steps: int) -> None:
        """See `Sink`."""
        for sink in self._sinks:
            sink.progress(steps)

    def state_dict(self) -> dict[str, int]:
        """See `Sink`."""
        return {name: offset for sink in self._sinks for name, offset in sink.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """See `Sink`."""
        for sink in self._sinks:
            sink.load_state_dict(state)

    def close(self) -> None:
        """Closes every sink."""
        for sink in self._sinks:
            sink.close()
