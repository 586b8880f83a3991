import numpy as np
import pytest

from acer_tf.logs.tables import HEADER_EVERY, ShortTableSink, TableSink, short, table, table_sinks
from acer_tf.segment import Episode


def test_table_is_boxed_and_keeps_the_order() -> None:
    values = {"total_timesteps": 1234567, "loss": np.float32(0.123456), "mean_episode_reward": float("nan")}
    assert table(values).splitlines() == [
        "---------------------------------",
        "| total_timesteps     | 1234567 |",
        "| loss                | 0.123   |",
        "| mean_episode_reward | nan     |",
        "---------------------------------",
    ]


def test_whole_numbers_of_numpy_are_shown_in_full() -> None:
    assert "| 1234567 |" in table({"steps": np.int64(1234567)})


def test_sink_prints_the_table_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    TableSink().write({"loss": 1.0, "replay_loss": 2.0})
    out, err = capsys.readouterr()
    assert out == table({"loss": 1.0}) + "\n"
    assert err == ""


def test_no_zero_is_negative() -> None:
    assert "| loss | 0 |" in table({"loss": -0.0})
    assert short(-0.0) == "0"


ROW = {
    "total_timesteps": 1_234_560,
    "mean_episode_reward": 0.5,
    "entropy": 0.51234,
    "explained_variance": 0.871,
    "average_kl": -0.0,
    "recent_fps": 1234,
    "replay_size": 800_000,
}


def test_short_table_is_one_line_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ShortTableSink()
    sink.write(ROW)
    sink.episodes([Episode(0, 30.0, 100, 0.0), Episode(1, 41.0, 265, 0.0)])
    sink.write(ROW)
    out, err = capsys.readouterr()
    header, first, second = out.splitlines()
    assert header.split() == ["steps", "return", "length", "entropy", "expl.var.", "KL", "steps/s", "replay"]
    assert first.split() == ["1,234,560", "-", "-", "0.512", "0.871", "0", "1,234", "800,000"]
    assert second.split() == ["1,234,560", "35.5", "182", "0.512", "0.871", "0", "1,234", "800,000"]
    assert len({len(line) for line in (header, first, second)}) == 1 and len(header) <= 80
    assert err == ""


def test_numbers_of_ones_own_are_columns_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ShortTableSink()
    for row in (ROW, ROW | {"custom/angle of pole": 2.5}, ROW | {"custom/angle of pole": float("nan")}):
        sink.write(row)
    _, before, header, first, second = capsys.readouterr().out.splitlines()
    assert header.endswith("  custom/angle of pole") and first.endswith(" 2.5") and second.endswith(" -")
    assert len(header) == len(first) == len(second) == len(before) + 22
    TableSink().write({"loss": 1.0, "replay_angle": 2.0})
    assert "| replay_angle | 2 |" in capsys.readouterr().out


def test_the_header_comes_again_and_unknown_numbers_are_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ShortTableSink()
    row = {**ROW, "explained_variance": np.float32("nan"), "recent_fps": 0}
    del row["average_kl"]  # without the trust region
    for _ in range(HEADER_EVERY + 1):
        sink.write(row)
    lines = capsys.readouterr().out.splitlines()
    assert [i for i, line in enumerate(lines) if "entropy" in line] == [0, HEADER_EVERY + 1]
    assert lines[1].split()[1:7] == ["-", "-", "0.512", "-", "-", "-"]


@pytest.mark.parametrize(
    ("number", "text"), [(1234567, "1,234,567"), (99.96, "100"), (-21, "-21"), (0.00123456, "0.00123"), (1e-7, "1e-07")]
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert short(number) == text


def test_verbosity_chooses_the_table() -> None:
    assert [[type(sink) for sink in table_sinks(verbose)] for verbose in (0, 1, 2)] == [
        [],
        [ShortTableSink],
        [TableSink],
    ]
