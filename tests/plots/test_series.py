import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.logs.files import EpisodesCsv
from acer_tf.plots.series import Table, has_rows, on_axis, read_returns, read_series, returns_so_far, sources_among
from acer_tf.segment import Episode
from tests.plots.samples import series, write_run


def test_reads_what_a_run_writes(tmp_path: Path) -> None:
    sink = EpisodesCsv(tmp_path / "episodes.csv")
    sink.episodes([Episode(0, 2.5, 10, 0.1), Episode(1, -1.0, 12, 0.2)])
    sink.progress(40)
    sink.close()
    for source in (tmp_path, tmp_path / "episodes.csv"):
        steps, values = read_returns(source)
        np.testing.assert_array_equal(steps, [40, 40])
        np.testing.assert_array_equal(values, [2.5, -1.0])


def test_what_is_beside_run_folders_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "seed-0").mkdir()
    for name, content in (
        *(("seed-0.log", b"Traceback"), ("sweep.csv", b"name,seed,status,steps\n"), ("a.png", b"\x89PNG" * 9)),
        *(("curve.csv", b"# a comment\nlength,return,steps\n"), ("empty.csv", b"")),
    ):
        (tmp_path / name).write_bytes(content)
    everything = [*sorted(tmp_path.iterdir()), tmp_path / "none.csv"]
    assert [path.name for path in sources_among(everything)] == ["curve.csv", "seed-0", "none.csv"]
    assert sources_among([tmp_path / "sweep.csv"]) == [tmp_path / "sweep.csv"]  # named by itself, it is meant


def test_reads_a_recorded_curve_with_comments_and_columns_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# who, when\nlength,return,steps\n125,0,125\n# note\n129,3,254\n")
    steps, values = read_returns(tmp_path / "a.csv")
    np.testing.assert_array_equal(steps, [125, 254])
    np.testing.assert_array_equal(values, [0, 3])


def test_half_a_row_of_a_run_under_way_is_left_out(tmp_path: Path) -> None:
    for name, rows in (("episodes.csv", 1), ("own.csv", 2)):
        (tmp_path / name).write_bytes(b"steps,return\n100,-5\n400,-11")  # -1100.25 as yet
        assert len(read_returns(tmp_path / name).x) == rows, "a file of one's own may end without a line's end"


def test_a_byte_order_mark_is_no_part_of_a_column(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "excel.csv").write_bytes(b"\xef\xbb\xbfsteps,return\n10,1.5\n")
    np.testing.assert_array_equal(read_returns(tmp_path / "excel.csv"), [[10], [1.5]])
    assert tmp_path / "excel.csv" in sources_among([*tmp_path.iterdir()])


def test_the_last_mean_is_that_of_a_hundred_returns(tmp_path: Path) -> None:
    assert returns_so_far(write_run(tmp_path / "run", [1000.0] * 50 + [1.0] * 100)).last_mean == 1
    assert np.isnan(returns_so_far(tmp_path / "none").last_mean)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#{"t_start": 1.0}\nr,l,t\n1,2,3\n', "lacks a column steps or return"),
        ("", "lacks a column"),
        ("steps,return\n", "no finished episode"),
        ("steps,return\n1,x\n", "not a number"),
        ("steps,return\n1\n", "not a number"),
        (b"\xff\xfe\x00", "cannot be read"),
        ("steps,return\n1," + "9" * 140_000, "cannot be read .field larger than field limit"),
        ("steps,return\n1,1e308\n", "has a number under steps or return that is not between ±1e"),
        ("steps,return\n-1,1\n", "has a cell under steps that is not a finite number >= 0"),
        ("steps,return\ninf,1\n", "has a cell under steps that is not a finite number"),
        ("steps,return\n1,-inf\n", "has an infinite return"),
    ],
)
def test_other_files_are_input_errors(tmp_path: Path, text: str | bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        read_returns(tmp_path / "a.csv")


def test_a_table_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acer_tf.plots.series.LARGEST", 20)
    (tmp_path / "a.csv").write_text("steps,return\n1,2\n3,4\n")
    with pytest.raises(InputError, match=r"a\.csv has more than 0 GiB; expected a run folder"):
        read_returns(tmp_path / "a.csv")


def test_lines_end_where_csv_has_them_end(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,steps\nx\u2028y,1\nx\x0cy,2\r\n")
    assert Table(tmp_path / "a.csv", "").text("name", "steps") == [["x\u2028y", "x\x0cy"], ["1", "2"]]


@pytest.mark.parametrize("read", [has_rows, lambda path: sources_among([path, path.with_name("run")])])
def test_a_file_that_the_disk_cannot_read_is_told(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(tmp_path / "run", [1.0]).parent / "episodes.csv"
    path.write_text("steps,return\n")

    def broken(*_: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(InputError, match=r"episodes.csv cannot be read \(Input/output error\)"):
        read(path)


def test_missing_files_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"episodes\.csv does not exist; expected a run folder"):
        read_returns(tmp_path)
    with pytest.raises(InputError, match=r"absent does not exist; expected a run folder or its episodes\.csv"):
        read_returns(tmp_path / "absent")


def test_metrics_are_columns_of_progress_without_rows_that_lack_them(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("total_timesteps,entropy,replay_loss\n0,1.5,nan\n80,1.25,3\n")
    np.testing.assert_array_equal(read_series(tmp_path, "entropy"), [[0, 80], [1.5, 1.25]])
    np.testing.assert_array_equal(read_series(tmp_path, "replay_loss"), [[80], [3]])
    with pytest.raises(InputError, match="no column entropie; the nearest are entropy"):
        read_series(tmp_path, "entropie")


def test_a_metric_that_has_no_value_yet_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("total_timesteps,replay_loss\n0,nan\n")
    with pytest.raises(InputError, match="no value of replay_loss yet"):
        read_series(tmp_path, "replay_loss")


def test_evaluations_are_mean_returns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a run with evaluations"):
        read_series(tmp_path, "eval")
    (tmp_path / "evaluations.csv").write_text("steps,mean_return,episodes\n100,2.5,5\n200,7,5\n")
    np.testing.assert_array_equal(read_series(tmp_path, "eval"), [[100, 200], [2.5, 7]])


def test_an_agent_step_of_atari_is_four_frames(tmp_path: Path) -> None:
    found = on_axis(series((100, 1)), "frames", tmp_path, "PongNoFrameskip-v4")
    np.testing.assert_array_equal(found, [[400], [1]])
    with pytest.raises(InputError, match="CartPole-v1 is not an Atari game"):
        on_axis(series((100, 1)), "frames", tmp_path, "CartPole-v1")


def test_time_is_that_of_the_episodes_that_ended_before_and_after(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(on_axis(series((150, 7), (300, 8)), "minutes", run, "A-v0").x, [1.5, 3])
    np.testing.assert_array_equal(on_axis(series((300, 8)), "hours", run, "A-v0").x, [0.05])


def test_time_before_the_first_end_and_after_the_last_is_told_by_the_speed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0, 2.0])
    np.testing.assert_allclose(on_axis(series((0, 1), (50, 1), (300, 1)), "minutes", run, "A-v0").x, [0, 0.5, 3])


def test_a_file_of_returns_has_no_times(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("steps,return\n10,1\n")
    with pytest.raises(InputError, match=r"a\.csv has no times; --x minutes needs run folders, expected --x steps\.$"):
        on_axis(series((10, 1)), "minutes", tmp_path / "a.csv", "")


def test_time_needs_the_file_that_has_it(tmp_path: Path) -> None:
    (write_run(tmp_path / "run", [1.0]) / "monitor.csv").unlink()
    with pytest.raises(InputError, match=r"monitor\.csv does not exist"):
        on_axis(series((100, 1)), "minutes", tmp_path / "run", "A-v0")
