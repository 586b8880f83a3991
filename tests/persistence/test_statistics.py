from pathlib import Path

import numpy as np
import pytest

from acer_tf.persistence.statistics import StatisticsSink


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
    with pytest.raises(ValueError, match=r"not in every row: (loss|extra)\."):
        sink.write(row)
    assert (tmp_path / "progress.csv").read_text() == "steps,loss\n320,0.1\n"
    sink.close()


def test_a_run_without_statistics_leaves_no_file(tmp_path: Path) -> None:
    StatisticsSink(tmp_path / "progress.csv").close()
    assert list(tmp_path.iterdir()) == []
