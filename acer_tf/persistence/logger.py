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

    def close(self) -> None:
        """Closes every sink."""
        for sink in self._sinks:
            sink.close()
