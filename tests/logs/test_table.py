import numpy as np
import pytest

from acer_tf.logs.table import TableSink, table


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
