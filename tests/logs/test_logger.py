from collections.abc import Mapping, Sequence
from pathlib import Path

from acer_tf.logs.files import EpisodesCsv, ProgressCsv
from acer_tf.logs.logger import Logger, Sink
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


def log(logger: Sink) -> None:
    logger.episodes([Episode(0, 1.0, 2, 3.0)])
    logger.progress(20)
    logger.write({"loss": 0.5})


def use(logger: Sink) -> None:
    log(logger)
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


def test_sinks_keep_their_offsets_under_their_names(tmp_path: Path) -> None:
    def sinks() -> Logger:
        return Logger([ProgressCsv(tmp_path / "a.csv"), Sink(), EpisodesCsv(tmp_path / "b.csv")])

    logger = sinks()
    log(logger)
    state = Logger([logger]).state_dict()
    assert state == {"a.csv": len("loss\n0.5\n"), "b.csv": (tmp_path / "b.csv").stat().st_size}
    again = sinks()
    again.load_state_dict(state)
    assert again.state_dict() == state
    log(again)
    logger.close()
    again.close()
    assert (tmp_path / "a.csv").read_text() == "loss\n0.5\n0.5\n"
    assert (tmp_path / "b.csv").read_text().count("20,1.0,2,0\n") == 2
