from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.logs.statistics import StatisticsSink


def test_first_row_gives_the_header_and_the_order(tmp_path: Path) -> None:
    sink = StatisticsSink(tmp_path / "progress.csv")
    sink.write({"steps": 320, "loss": np.float32(0.1)})
    sink.write({"loss": float("nan"), "steps": 640})
    assert (tmp_path / "progress.csv").read_text() == "steps,loss\n320,0.1\n640,nan\n"
    sink.close()
    sink.close()


@pytest.mark.parametrize("row", [{"steps": 1}, {"steps": 1, "loss": 2.0, "extra": 3.0}])
def test_other_names_are_refused(tmp_path: Path, row: dict[str, float]) -> None:
    sink = StatisticsSink(tmp_path / "progress.csv")
    sink.write({"steps": 320, "loss": 0.1})
    with pytest.raises(InputError, match=r"not in every row: (loss|extra);"):
        sink.write(row)
    assert (tmp_path / "progress.csv").read_text() == "steps,loss\n320,0.1\n"
    sink.close()


def test_a_run_without_statistics_leaves_no_file(tmp_path: Path) -> None:
    StatisticsSink(tmp_path / "progress.csv").close()
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_file_goes_on_where_the_checkpoint_was(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    sink = StatisticsSink(path)
    sink.write({"steps": 1, "loss": 2.0})
    state = sink.state_dict()
    sink.write({"steps": 2, "loss": 3.0})
    sink.close()
    again = StatisticsSink(path)
    again.load_state_dict(state)
    assert again.state_dict() == state, "also before the first row"
    again.write({"steps": 4, "loss": 5.0})
    again.close()
    assert path.read_text() == "steps,loss\n1,2.0\n4,5.0\n"


def test_a_file_with_another_header_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    path.write_text("steps,loss\n1,2.0\n")
    sink = StatisticsSink(path)
    sink.load_state_dict({path.name: path.stat().st_size})
    with pytest.raises(InputError, match=r"one header for all rows; not in every row: extra; move it away\."):
        sink.write({"steps": 2, "loss": 3.0, "extra": 1.0})
    sink.write({"loss": 4.0, "steps": 3})
    sink.close()
    assert path.read_text() == "steps,loss\n1,2.0\n3,4.0\n"


def test_resuming_before_the_first_row_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    state = StatisticsSink(path).state_dict()
    sink = StatisticsSink(path)
    sink.write({"steps": 1})
    sink.close()
    again = StatisticsSink(path)
    again.load_state_dict(state)
    again.write({"steps": 1})
    again.close()
    assert path.read_text() == "steps\n1\n"
