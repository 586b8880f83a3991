import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError, SupersededError
from acer_tf.logs.files import EpisodesCsv, ProgressCsv
from acer_tf.logs.logger import Logger, Sink, SpacedLogger
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


@pytest.mark.parametrize(
    "call",
    [
        lambda logger: logger.write({}),
        lambda logger: logger.episodes([]),
        lambda logger: logger.evaluation(1, {}),
        lambda logger: logger.progress(1),
        lambda logger: logger.state_dict(),
        lambda logger: logger.load_state_dict({}),
        lambda logger: logger.close(),
    ],
)
def test_nothing_is_passed_on_that_the_check_forbids(call: Callable[[Logger], object]) -> None:
    def check() -> None:
        raise SupersededError("taken over")

    calls: list[object] = []
    with pytest.raises(SupersededError):
        call(Logger([Recorder("a", calls)], check))
    assert calls == []


def test_recorded_numbers_join_the_next_row_and_are_nan_in_later_ones() -> None:
    calls: list[Any] = []
    logger = Logger([Recorder("a", calls)])
    logger.record("custom/angle", 1)
    logger.record("custom/angle", np.float32(2.5))
    logger.write({"loss": 0.5})
    logger.record("height of the pole", np.int64(3))
    logger.write({"loss": 0.25})
    (_, _, first), (_, _, second) = calls
    assert first == {"loss": 0.5, "custom/angle": 2.5}
    assert math.isnan(second.pop("custom/angle")) and second == {"loss": 0.25, "height of the pole": 3}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("loss", 1.0, "loss is a metric of training; choose another name, such as custom/loss"),
        ("train/loss", 1.0, "train/loss is a metric of training"),
        ("a,b", 1.0, "the name 'a,b' cannot be recorded; expected letters"),
        (3, 1.0, "the name 3 cannot be recorded"),
        ("angle", "1.5", "the value of angle is a str; expected a number"),
        ("angle", None, "the value of angle is None; expected a number"),
        ("angle", np.ones(2), "the value of angle is an ndarray; expected a number"),
    ],
)
def test_what_cannot_be_recorded(name: Any, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Logger().record(name, value)


def test_sinks_keep_their_offsets_under_their_names(tmp_path: Path) -> None:
    def sinks() -> Logger:
        return Logger([ProgressCsv(tmp_path / "a.csv"), Sink(), EpisodesCsv(tmp_path / "b.csv")])

    logger = sinks()
    log(logger)
    state = Logger([logger]).state_dict()
    assert state == {
        "a.csv": len("loss\n0.5\n"),
        "a.csv columns": 1,
        "a.csv rows": 1,
        "b.csv": (tmp_path / "b.csv").stat().st_size,
    }
    again = sinks()
    again.load_state_dict(state)
    assert again.state_dict() == state
    log(again)
    logger.close()
    again.close()
    assert (tmp_path / "a.csv").read_text() == "loss\n0.5\n0.5\n"
    assert (tmp_path / "b.csv").read_text().count("20,1.0,2,0\n") == 2


def test_a_number_that_falls_on_a_row_too_many_waits_for_the_next() -> None:
    rows: list[Any] = []
    logger = Logger([SpacedLogger([Recorder("file", rows)])])
    for steps in (100_000, 100_001, 100_002, 100_200, 100_400):
        if steps in (100_001, 100_002):
            logger.record("custom/score", steps)
        logger.write({"total_timesteps": steps, "loss": 1.0})
    written = [(row["total_timesteps"], row.get("custom/score")) for _, _, row in rows]
    assert written[:2] == [(100_000, None), (100_200, 100_002)], "the last value counts"
    assert math.isnan(written[2][1] or 0.0)
