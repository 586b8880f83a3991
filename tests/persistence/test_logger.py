from collections.abc import Mapping, Sequence

from acer_tf.persistence.logger import Logger, Sink
from acer_tf.segment import Episode


class Recorder(Sink):
    def __init__(self, name: str, calls: list[object]) -> None:
        self._name = name
        self._calls = calls

    def write(self, values: Mapping[str, float]) -> None:
        self._calls.append((self._name, "write", dict(values)))

    def episodes(self, episodes: Sequence[Episode]) -> None:
        self._calls.append((self._name, "episodes", list(episodes)))

    def progress(self, steps: int) -> None:
        self._calls.append((self._name, "progress", steps))

    def close(self) -> None:
        self._calls.append((self._name, "close"))


def use(logger: Sink) -> None:
    logger.episodes([Episode(0, 1.0, 2, 3.0)])
    logger.progress(20)
    logger.write({"loss": 0.5})
    logger.close()


def test_logger_hands_everything_to_every_sink_in_order() -> None:
    calls: list[object] = []
    use(Logger([Recorder("a", calls), Recorder("b", calls)]))
    expected: list[object] = [
        (name, *rest)
        for rest in (("episodes", [Episode(0, 1.0, 2, 3.0)]), ("progress", 20), ("write", {"loss": 0.5}), ("close",))
        for name in "ab"
    ]
    assert calls == expected


def test_logger_without_sinks_and_a_plain_sink_do_nothing() -> None:
    use(Logger())
    use(Logger([Sink()]))
