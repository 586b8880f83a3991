import csv
import errno
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.logs.files import (
    EpisodesCsv,
    FileSink,
    MonitorCsv,
    ProgressCsv,
    ProgressJsonLines,
    csv_lines,
    file_logger,
)
from acer_tf.segment import Episode
from tests.full_disk import full_disk

EPISODES = [Episode(3, np.float64(7.0), np.int64(12), 1.23456789), Episode(0, -0.5, 4, 2.0)]


def test_rows_are_on_disk_before_close(tmp_path: Path) -> None:
    file = FileSink(tmp_path / "a.csv", b"#note\nx,y\n")
    file.append(csv_lines([[1, 2.5], [3, "a,b"]]))
    assert (tmp_path / "a.csv").read_bytes() == b'#note\nx,y\n1,2.5\n3,"a,b"\n'
    file.append(csv_lines([[4, 5]]))
    assert (tmp_path / "a.csv").read_bytes().endswith(b"\n4,5\n")
    file.close()
    file.close()


def test_no_file_before_the_first_append(tmp_path: Path) -> None:
    file = FileSink(tmp_path / "a.csv", b"x\n")
    file.close()
    assert not (tmp_path / "a.csv").exists()


def test_a_first_append_without_rows_writes_the_header(tmp_path: Path) -> None:
    file = FileSink(tmp_path / "a.csv", b"x\n")
    file.append(csv_lines([]))
    assert (tmp_path / "a.csv").read_bytes() == b"x\n"
    file.close()


def test_an_existing_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("precious")
    with pytest.raises(FileExistsError):
        FileSink(tmp_path / "a.csv", b"x\n").append(b"1\n")
    assert (tmp_path / "a.csv").read_text() == "precious"


def begun(path: Path, *rows: list[int]) -> FileSink:
    file = FileSink(path, b"x,y\n")
    file.append(csv_lines(rows))
    return file


def resumed(path: Path, state: dict[str, int]) -> FileSink:
    file = FileSink(path, b"x,y\n")
    file.load_state_dict(state)
    return file


THEN = "x,y\n1,2\n3,4\n"


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        (f"{THEN}5,6\n7,8\n", THEN),
        *((THEN[:-cut], "x,y\n1,2\n") for cut in (1, 2, 3, 4)),
        ("x,y", ""),  # the header is written again
        (None, ""),
    ],
)
def test_a_log_that_went_on_or_was_cut_or_deleted_keeps_the_whole_rows_of_then(
    tmp_path: Path, left: str | None, kept: str
) -> None:
    path = tmp_path / "a.csv"
    file = begun(path, [1, 2], [3, 4])
    state = file.state_dict()
    assert state == {"a.csv": len(THEN)}
    file.close()
    path.unlink()
    if left is not None:
        path.write_text(left)
    again = resumed(path, state)
    assert again.state_dict() == {"a.csv": len(kept)}
    again.append(csv_lines([[9, 9]]))
    assert path.read_text() == (kept or "x,y\n") + "9,9\n"
    again.close()


def test_without_rows_then_none_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    state = FileSink(path, b"x,y\n").state_dict()
    assert state == {"a.csv": 0}
    begun(path, [1, 2]).close()
    resumed(path, state).append(csv_lines([[3, 4]]))
    assert path.read_text() == "x,y\n3,4\n"


def test_rows_wait_while_the_disk_is_full(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, long = tmp_path / "a.csv", "x" * 5000
    file = begun(path, [1, 2])
    with full_disk(4096):  # what is printed goes to a file, too
        for i in range(3):
            file.append(csv_lines([[i, long]]))
        assert path.read_text() == ("x,y\n1,2\n0," + long)[:4096]
        state = file.state_dict()
        assert state == {"a.csv": 4096, "a.csv waiting": f"0,{long}\n1,{long}\n2,{long}\n"[4096 - len("x,y\n1,2\n") :]}
        assert capfd.readouterr().err.count("cannot be written (File too large); up to 4 MiB of its rows wait") == 1
        shutil.copy(path, tmp_path / "killed.csv")
    killed = {name.replace("a.csv", "killed.csv"): value for name, value in state.items()}
    again = resumed(tmp_path / "killed.csv", killed)
    again.append(csv_lines([[9, 9]]))
    assert (tmp_path / "killed.csv").read_text() == f"x,y\n1,2\n0,{long}\n1,{long}\n2,{long}\n9,9\n"
    file.append(csv_lines([[9, 9]]))
    assert path.read_text() == f"x,y\n1,2\n0,{long}\n1,{long}\n2,{long}\n9,9\n"
    assert file.state_dict() == {"a.csv": path.stat().st_size}
    file.close()


def test_a_file_that_cannot_be_made_is_made_later(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").touch()
    file = begun(tmp_path / "folder" / "a.csv", [1, 2])
    assert "cannot be written (File exists)" in capfd.readouterr().err
    state = file.state_dict()
    (tmp_path / "folder").unlink()
    file.close()
    assert not (tmp_path / "folder").exists()
    file.append(csv_lines([[3, 4]]))
    assert (tmp_path / "folder" / "a.csv").read_text() == "x,y\n1,2\n3,4\n"
    file.close()
    again = resumed(tmp_path / "folder" / "a.csv", state)
    again.append(csv_lines([[5, 6]]))
    assert (tmp_path / "folder" / "a.csv").read_text() == "x,y\n1,2\n5,6\n"


def test_a_file_that_is_moved_begins_anew_and_one_that_is_replaced_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run" / "a.csv"
    file = begun(path, [1, 2])
    path.parent.rename(tmp_path / "moved")
    assert file.state_dict() == {"a.csv": 0}  # of a checkpoint that is written where nothing is any more
    file.append(csv_lines([[3, 4]]))
    assert path.read_text() == "x,y\n3,4\n" and (tmp_path / "moved" / "a.csv").read_text() == "x,y\n1,2\n"
    path.unlink()
    path.write_text("x,y\n7,8\n")  # an editor
    file.append(csv_lines([[5, 6]]))
    assert path.read_text() == "x,y\n7,8\n5,6\n"
    assert file.state_dict() == {"a.csv": path.stat().st_size}
    file.close()


def test_memory_of_rows_that_wait_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acer_tf.logs.files.LARGEST_WAITING", 20)
    (tmp_path / "folder").touch()
    file = begun(tmp_path / "folder" / "a.csv", [1, 2])
    for number in range(100):
        file.append(csv_lines([[number, number]]))
    (tmp_path / "folder").unlink()
    file.append(csv_lines([[99, 99]]))
    assert (tmp_path / "folder" / "a.csv").read_text() == "x,y\n1,2\n0,0\n1,1\n2,2\n"
    file.append(csv_lines([[100, 100]]))
    assert (tmp_path / "folder" / "a.csv").read_text().endswith("2,2\n100,100\n")


@pytest.mark.parametrize("kind", [FileSink, ProgressCsv])
def test_a_link_is_not_cut(tmp_path: Path, kind: type[FileSink]) -> None:
    (tmp_path / "thesis.tex").write_text("precious\nwords\n")
    (tmp_path / "a.csv").symlink_to(tmp_path / "thesis.tex")
    for size in (0, 9, 100):
        with pytest.raises(InputError, match=r"a\.csv is a link; expected the log of this run, or nothing\."):
            kind(tmp_path / "a.csv").load_state_dict({"a.csv": size})
    with pytest.raises(FileExistsError):
        FileSink(tmp_path / "a.csv", b"x\n").append(b"1\n")
    assert (tmp_path / "thesis.tex").read_text() == "precious\nwords\n"


def test_a_csv_that_is_no_text_is_told_when_a_run_resumes(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    path.write_bytes(b"\xff\xfe\nrows\n")
    with pytest.raises(InputError, match=r"progress\.csv is damaged \(.*\); move it away, and a new one begins\."):
        ProgressCsv(path).load_state_dict({path.name: path.stat().st_size})


def test_rows_of_long_runs_are_further_apart(tmp_path: Path) -> None:
    files = file_logger(tmp_path, None)
    for steps in range(0, 1_000_000, 80):
        files.write({"total_timesteps": steps, "loss": 0.5})
    files.close()
    steps = np.genfromtxt(tmp_path / "progress.csv", delimiter=",", names=True)["total_timesteps"]
    assert len(steps) < 3700 and len((tmp_path / "progress.jsonl").read_text().splitlines()) == len(steps)
    np.testing.assert_array_equal(steps[:1000], np.arange(0, 80_000, 80))
    assert (np.diff(steps) <= np.maximum(80, steps[1:] / 1000 + 80)).all(), "a point for each pixel of a plot"


def test_a_resumed_run_writes_the_rows_of_an_undisturbed_one(tmp_path: Path) -> None:
    def log(folder: Path, begin: int, end: int, state: dict[str, Any]) -> dict[str, Any]:
        files = file_logger(folder, None)
        files.load_state_dict(state)
        for steps in range(begin, end, 10):
            files.write({"total_timesteps": steps})
        state = files.state_dict()
        files.close()
        return state

    log(tmp_path / "whole", 0, 60_000, {})
    log(tmp_path / "resumed", 30_010, 60_000, log(tmp_path / "resumed", 0, 30_010, {}))
    names = [folder / "progress.csv" for folder in (tmp_path / "whole", tmp_path / "resumed")]
    assert names[0].read_bytes() == names[1].read_bytes()


def test_first_row_gives_the_header_and_the_order(tmp_path: Path) -> None:
    sink = ProgressCsv(tmp_path / "progress.csv")
    sink.write({"steps": 320, "loss": np.float32(0.1)})
    sink.write({"loss": float("nan"), "steps": 640})
    assert (tmp_path / "progress.csv").read_text() == "steps,loss\n320,0.1\n640,nan\n"
    sink.close()
    sink.close()


@pytest.mark.parametrize("row", [{"steps": 1}, {"steps": 1, "loss": 2.0, "entropy": 3.0}])
def test_other_metrics_are_refused(tmp_path: Path, row: dict[str, float]) -> None:
    sink = ProgressCsv(tmp_path / "progress.csv")
    sink.write({"steps": 320, "loss": 0.1})
    with pytest.raises(InputError, match=r"missing in some: (loss|entropy);"):
        sink.write(row)
    assert (tmp_path / "progress.csv").read_text() == "steps,loss\n320,0.1\n"
    sink.close()


def test_numbers_of_ones_own_get_columns_when_they_come(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    sink = ProgressCsv(path)
    sink.write({"loss": 0.1})
    sink.write({"loss": 0.2, "custom/angle": 7, "height": 8.5})
    state = sink.state_dict()
    assert state == {path.name: path.stat().st_size, "progress.csv columns": 3, "progress.csv rows": 2}
    sink.write({"loss": 0.3, "height": 9.5})
    sink.close()
    assert path.read_text() == "loss,custom/angle,height\n0.1,nan,nan\n0.2,7,8.5\n0.3,nan,9.5\n"
    again = ProgressCsv(path)
    again.load_state_dict(state)
    again.write({"loss": 0.4})
    again.write({"loss": 0.5, "depth": 1})
    again.close()
    lines = ["loss,custom/angle,height,depth", "0.1,nan,nan,nan", "0.2,7,8.5,nan", "0.4,nan,nan,nan", "0.5,nan,nan,1"]
    assert path.read_text().splitlines() == lines
    assert [path.name] == [path.name for path in tmp_path.iterdir()]


def test_resuming_from_before_a_column_keeps_all_rows_of_then(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    sink = ProgressCsv(path)
    for loss in range(5):
        sink.write({"loss": loss})
    state = sink.state_dict()
    sink.write({"loss": 5, "custom/angle": 7})  # all rows become longer; then the process is killed
    sink.close()
    again = ProgressCsv(path)
    again.load_state_dict(state)
    again.write({"loss": 6})
    assert again.state_dict()["progress.csv rows"] == 6
    again.close()
    rows = [f"{loss},nan" for loss in (0, 1, 2, 3, 4, 6)]
    assert path.read_text().splitlines() == ["loss,custom/angle", *rows]


def test_a_column_that_the_disk_does_not_take_comes_with_a_later_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = ProgressCsv(tmp_path / "progress.csv")
    sink.write({"loss": 0.1})
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", Mock(side_effect=OSError(errno.ENOSPC, "no room")))
        sink.write({"loss": 0.2, "angle": 7})
    assert (tmp_path / "progress.csv").read_text() == "loss\n0.1\n0.2\n"
    sink.write({"loss": 0.3, "angle": 8})
    sink.close()
    assert (tmp_path / "progress.csv").read_text() == "loss,angle\n0.1,nan\n0.2,nan\n0.3,8\n"


def test_a_column_leaves_the_file_of_another_run_alone(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("loss\n0.1\n")
    with pytest.raises(FileExistsError):
        ProgressCsv(tmp_path / "progress.csv").write({"loss": 0.2, "angle": 7})
    assert (tmp_path / "progress.csv").read_text() == "loss\n0.1\n"


@pytest.mark.parametrize("sink", [ProgressCsv, ProgressJsonLines])
def test_a_run_without_metrics_leaves_no_file(tmp_path: Path, sink: Callable[[Path], FileSink]) -> None:
    sink(tmp_path / "progress").close()
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_csv_goes_on_where_the_checkpoint_was(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    sink = ProgressCsv(path)
    sink.write({"steps": 1, "loss": 2.0})
    state = sink.state_dict()
    sink.write({"steps": 2, "loss": 3.0})
    sink.close()
    again = ProgressCsv(path)
    again.load_state_dict(state)
    assert again.state_dict() == state, "also before the first row"
    again.write({"steps": 4, "loss": 5.0})
    again.close()
    assert path.read_text() == "steps,loss\n1,2.0\n4,5.0\n"


def test_a_file_with_another_header_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    path.write_text("steps,loss\n1,2.0\n")
    sink = ProgressCsv(path)
    sink.load_state_dict({path.name: path.stat().st_size})
    with pytest.raises(InputError, match=r"one header for all rows; missing in some: entropy; move it away\."):
        sink.write({"steps": 2, "loss": 3.0, "entropy": 1.0})
    sink.write({"loss": 4.0, "steps": 3})
    sink.close()
    assert path.read_text() == "steps,loss\n1,2.0\n3,4.0\n"


def test_resuming_before_the_first_row_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    state = ProgressCsv(path).state_dict()
    sink = ProgressCsv(path)
    sink.write({"steps": 1})
    sink.close()
    again = ProgressCsv(path)
    again.load_state_dict(state)
    again.write({"steps": 1})
    again.close()
    assert path.read_text() == "steps\n1\n"


def test_json_rows_have_full_names_and_null_where_there_is_no_number(tmp_path: Path) -> None:
    sink = ProgressJsonLines(tmp_path / "progress.jsonl")
    sink.write({"total_timesteps": 320, "loss": np.float32(0.5), "replay_loss": float("nan"), "my/own": float("-inf")})
    sink.write({"total_timesteps": 640, "loss": 1e-300, "replay_loss": 2.0, "my/own": 3})
    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=lambda name: 1 / 0) for line in lines] == [
        {"time/total_timesteps": 320, "train/loss": 0.5, "replay/loss": None, "my/own": None},
        {"time/total_timesteps": 640, "train/loss": 1e-300, "replay/loss": 2.0, "my/own": 3},
    ]
    assert '"time/total_timesteps": 320,' in lines[0]
    sink.close()
    sink.close()


def test_resumed_json_lines_go_on_where_the_checkpoint_was(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    sink = ProgressJsonLines(path)
    sink.write({"loss": 1})
    state = sink.state_dict()
    assert state == {"progress.jsonl": len('{"train/loss": 1}\n')}
    sink.write({"loss": 2})
    sink.close()
    again = ProgressJsonLines(path)
    again.load_state_dict(state)
    again.write({"loss": 3})
    again.close()
    assert path.read_text() == '{"train/loss": 1}\n{"train/loss": 3}\n'


def test_monitor_has_the_format_of_baselines(tmp_path: Path) -> None:
    sink = MonitorCsv(tmp_path / "monitor.csv", "Some-v0")
    sink.episodes([])
    sink.episodes(EPISODES)
    comment, *rest = (tmp_path / "monitor.csv").read_text().splitlines()
    assert comment[0] == "#"
    header = json.loads(comment[1:])
    assert header["env_id"] == "Some-v0"
    assert abs(header["t_start"] - time.time()) < 10
    assert list(csv.DictReader(rest)) == [
        {"r": "7.0", "l": "12", "t": "1.234568"},
        {"r": "-0.5", "l": "4", "t": "2.0"},
    ]
    sink.close()
    sink.close()


def test_episodes_carry_the_steps_of_their_iteration(tmp_path: Path) -> None:
    sink = EpisodesCsv(tmp_path / "episodes.csv")
    sink.episodes(EPISODES)
    sink.progress(80)
    sink.episodes([])
    sink.progress(160)
    sink.episodes(EPISODES[:1])
    sink.progress(240)
    assert (tmp_path / "episodes.csv").read_text() == (
        "steps,return,length,env\n80,7.0,12,3\n80,-0.5,4,0\n240,7.0,12,3\n"
    )
    sink.close()
    sink.close()


def write(folder: Path, state: dict[str, int], step: int) -> dict[str, int]:
    files = file_logger(folder, None)
    files.load_state_dict(state)
    files.episodes([Episode(0, 1.0, 2, 3.0)])
    files.progress(step)
    files.write({"total_timesteps": step, "loss": 0.5})
    files.close()
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def test_what_is_there_goes_on(tmp_path: Path) -> None:
    sizes = write(tmp_path, {}, 20)
    assert sizes.keys() == {"progress.csv", "progress.jsonl", "monitor.csv", "episodes.csv"}
    monitor = (tmp_path / "monitor.csv").read_text()
    assert '"env_id": null' in monitor
    write(tmp_path, sizes, 40)
    assert (tmp_path / "progress.csv").read_text() == "total_timesteps,loss\n20,0.5\n40,0.5\n"
    rows = [json.loads(line) for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    assert rows == [{"time/total_timesteps": steps, "train/loss": 0.5} for steps in (20, 40)]
    assert (tmp_path / "episodes.csv").read_text() == "steps,return,length,env\n20,1.0,2,0\n40,1.0,2,0\n"
    assert (tmp_path / "monitor.csv").read_text() == f"{monitor}1.0,2,3.0\n"
