import io
import os
import pty
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from acer_tf.logs import terminal
from acer_tf.logs.terminal import (
    HEADER_EVERY,
    BarSink,
    LineSink,
    ProgressSink,
    ShortTableSink,
    TableSink,
    compact,
    fitting,
    progress_sink,
    short,
    table,
    table_sinks,
)
from acer_tf.segment import Episode


class Texts(ProgressSink):
    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        super().__init__(total_steps, replay_steps)
        self.texts: list[str] = []

    def show(self, steps: int, texts: dict[str, str]) -> None:
        self.texts.append("  ".join(texts.values()))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: seconds[0])
    return seconds


def test_text_leaves_out_what_is_unknown_at_first() -> None:
    sink = Texts(10_000)
    sink.progress(320)
    assert sink.texts == ["3.2%  320/10k steps"]


def test_text_tells_speed_and_time_left(clock: list[float]) -> None:
    sink = Texts(100_000)
    sink.progress(1_000)
    clock[0] = 2.0
    sink.progress(5_000)
    assert sink.texts[-1] == "5.0%  5k/100k steps  2,000 steps/s  0:00:48 left"


def test_training_without_an_end_in_sight_shows_what_a_clock_can(clock: list[float]) -> None:
    sink = Texts(2**63 - 1)
    sink.progress(1_000)
    clock[0] = 2.0
    sink.progress(5_000)
    assert sink.texts[-1].endswith("115740 days, 17:46:40 left")


def test_speed_is_that_of_the_last_hundred_iterations(clock: list[float]) -> None:
    sink = Texts(1_000_000)
    for i in range(300):
        clock[0] = i * 1.0 if i < 150 else 150 + (i - 150) * 10.0
        sink.progress(i * 100)
    assert "  10 steps/s  " in sink.texts[-1]


def test_mean_return_is_that_of_the_last_hundred_episodes() -> None:
    sink = Texts(10)
    sink.episodes([Episode(0, 1000.0, 1, 0.0)] * 50)
    sink.episodes([Episode(0, float(r), 1, 0.0) for r in range(100)])
    sink.progress(1)
    assert sink.texts[-1].endswith("  return 49.5")


def test_replay_fills_up() -> None:
    sink = Texts(1000, 400)
    for steps in (100, 399, 800):
        sink.progress(steps)
    assert [text.split("  ")[-1] for text in sink.texts] == ["replay 25%", "replay 100%", "replay 100%"]


def test_overshoot_of_the_last_segment_stays_at_100_percent(clock: list[float]) -> None:
    sink = Texts(100)
    sink.progress(60)
    clock[0] = 1.0
    sink.progress(120)
    assert sink.texts[-1] == "100.0%  120/100 steps  60 steps/s  0:00:00 left"


def test_lines_come_every_half_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    sink = LineSink(1_000)
    for second in range(61):
        clock[0] = float(second)
        sink.progress(second)
    sink.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split()[1] for line in err.splitlines()] == ["0/1k", "30/1k", "60/1k"]


def test_no_terminal_gets_lines() -> None:
    assert isinstance(progress_sink(10), LineSink)


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_program_without_a_console_shows_nothing(stream: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as pythonw and services."""
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, stream and io.StringIO())
        if stream:
            getattr(sys, name).close()
    sink = progress_sink(10)
    sink.progress(5)
    sink.close()
    assert isinstance(sink, LineSink)
    if stream is None:
        BarSink(10).close()


def test_terminal_gets_a_bar_and_tables_stay_in_a_piped_output(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from acer_tf.logs.terminal import BarSink, TableSink, progress_sink\n"
        "sink = progress_sink(1000)\n"
        "assert isinstance(sink, BarSink)\n"
        "sink.progress(500)\n"
        "TableSink().write({'loss': 1.0})\n"
        "sink.close()\n"
        "sink.close()\n"
    )
    controller, screen = pty.openpty()
    root = Path(terminal.__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, stderr=screen, env=env, check=True)
    os.close(screen)
    shown = os.read(controller, 100_000).decode()
    os.close(controller)
    assert "50.0%  500/1k steps" in shown
    assert shown.rstrip().endswith("\x1b[?25h"), "the cursor is visible again"
    assert b"| loss | 1 |" in done.stdout


TEXTS = {
    "percent": "12.3%",
    "steps": "12.35M/100M steps",
    "speed": "1,234 steps/s",
    "left": "12:34:56 left",
    "return": "return -1234.5",
    "replay": "replay 100%",
}


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (120, "12.3%  12.35M/100M steps  1,234 steps/s  12:34:56 left  return -1234.5  replay 100%"),
        (80, "12.3%  12.35M/100M steps  1,234 steps/s  12:34:56 left  return -1234.5"),
        (60, "12.3%  12:34:56 left  return -1234.5"),
        (12, "12.3%"),
    ],
)
def test_a_narrow_terminal_shows_what_is_most_important(
    width: int, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    sink = BarSink(1000)
    sink.show(123, TEXTS)
    sink.close()
    last = re.sub(r"\x1b\[[\d;?]*\w", "", capsys.readouterr().err).splitlines()[-1]
    bar = last.removesuffix(shown)
    assert last.endswith(shown) and len(last) <= width
    assert 6 <= len(bar.strip()) <= 40


def test_what_fits_is_kept() -> None:
    assert fitting(TEXTS, 1000) == "  ".join(TEXTS.values())
    assert fitting(TEXTS, 0) == "12.3%"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (12_345, "12.35k"), (1_500_000, "1.5M"), (10**8, "100M")]
)
def test_counts_are_short(number: int, text: str) -> None:
    assert compact(number) == text


def test_a_notebook_gets_a_bar_that_moves() -> None:
    notebook = nbformat.v4.new_notebook()
    source = """
        from acer_tf.logs.terminal import progress_sink
        sink = progress_sink(1000)
        for steps in (250, 750):
            sink.progress(steps)
        sink.close()
    """
    notebook.cells = [nbformat.v4.new_code_cell(textwrap.dedent(source))]
    NotebookClient(notebook, timeout=100).execute()
    (widgets,) = notebook.metadata["widgets"].values()
    (shown,) = [widget["state"]["outputs"] for widget in widgets["state"].values() if "outputs" in widget["state"]]
    assert "━" in str(shown) and "75.0%  750/1k steps" in str(shown) and "25.0%" not in str(shown)


def test_bar_that_never_started_closes_without_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    BarSink(10).close()
    assert capsys.readouterr().out == ""


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


def test_a_number_of_ones_own_takes_no_others_place(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ShortTableSink()
    sink.episodes([Episode(0, 30.0, 100, 0.0)])
    sink.write(ROW | {"return": 42.0})
    header, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert (header[1], header[-1], row[1], row[-1]) == ("return", "return", "30", "42")


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


def test_a_process_without_streams_has_progress_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    sink = progress_sink(10)
    assert isinstance(sink, LineSink)
    sink.progress(5)
    sink.close()
