import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from acer_tf.logs import terminal
from acer_tf.logs.terminal import BarSink, LineSink, ProgressSink, TableSink, progress_sink, table
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


class Texts(ProgressSink):
    def __init__(self, total_steps: int, replay_steps: int = 0) -> None:
        super().__init__(total_steps, replay_steps)
        self.texts: list[str] = []

    def show(self, steps: int, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: seconds[0])
    return seconds


def test_text_leaves_out_what_is_unknown_at_first() -> None:
    sink = Texts(10_000)
    sink.progress(320)
    assert sink.texts == ["3.2%  320/10,000 steps"]


def test_text_tells_speed_and_time_left(clock: list[float]) -> None:
    sink = Texts(100_000)
    sink.progress(1_000)
    clock[0] = 2.0
    sink.progress(5_000)
    assert sink.texts[-1] == "5.0%  5,000/100,000 steps  2,000 steps/s  0:00:48 left"


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
    assert [line.split()[1] for line in err.splitlines()] == ["0/1,000", "30/1,000", "60/1,000"]


def test_no_terminal_gets_lines() -> None:
    assert isinstance(progress_sink(10), LineSink)


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
    assert "50.0%  500/1,000 steps" in shown
    assert shown.rstrip().endswith("\x1b[?25h"), "the cursor is visible again"
    assert b"| loss | 1 |" in done.stdout


def test_bar_that_never_started_closes_without_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    BarSink(10).close()
    assert capsys.readouterr().out == ""
