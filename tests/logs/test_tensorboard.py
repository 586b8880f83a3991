import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from acer_tf.logs.logger import Sink
from acer_tf.logs.tensorboard import TensorBoardSink
from acer_tf.segment import Episode
from tests.event_files import read, read_settings

NAN = float("nan")


def row(steps: int, loss: float) -> dict[str, float]:
    return {"total_timesteps": steps, "loss": loss, "replay_loss": NAN if steps < 50 else 2 * loss}


def test_rows_and_episodes_are_read_back(tmp_path: Path) -> None:
    sink = TensorBoardSink(tmp_path / "tb", frames_per_step=4)
    sink.episodes([Episode(0, 3.0, 10, 0.1), Episode(1, 6.0, 20, 0.1)])
    sink.progress(20)
    sink.write(row(0, 0.5))
    for steps in (40, 60):
        sink.episodes([Episode(0, float(steps), 5, 0.1)] if steps == 60 else [])
        sink.progress(steps)
    sink.write(row(50, 0.25))
    curves = read(tmp_path / "tb")
    expected = {
        "time/total_timesteps": [(0, 0.0), (50, 50.0)],
        "time/frames": [(0, 0.0), (50, 200.0)],
        "train/loss": [(0, 0.5), (50, 0.25)],
        "replay/loss": [(50, 0.5)],
        "rollout/episode_return": [(20, 4.5), (60, 60.0)],
        "rollout/episode_length": [(20, 15.0), (60, 5.0)],
    }
    assert curves == expected
    sink.close()
    sink.close()


def test_other_games_have_no_frames_and_close_writes_the_last_episodes(tmp_path: Path) -> None:
    sink = TensorBoardSink(tmp_path)
    sink.write(row(0, 0.5))
    sink.episodes([Episode(0, 7.0, 10, 0.1)])
    sink.progress(20)
    assert "rollout/episode_return" not in read(tmp_path), "episodes wait for a row"
    sink.close()
    curves = read(tmp_path)
    assert curves["rollout/episode_return"] == [(20, 7.0)]
    assert "time/frames" not in curves


def test_resuming_drops_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "tb"
    sink = TensorBoardSink(folder)
    sink.write(row(0, 0.0))
    sink.episodes([Episode(0, 1.0, 10, 0.1)])
    sink.progress(50)
    first = sink.state_dict()
    size = (folder / "events.out.tfevents.000000").stat().st_size
    assert first == {"tb/events.out.tfevents.000000": size, "point_at": 50, "ended": []}
    sink.write(row(50, 50.0))
    sink.close()

    again = TensorBoardSink(folder)
    again.load_state_dict(first)
    assert again.state_dict() == first
    again.write(row(50, 51.0))
    second = again.state_dict()
    again.write(row(60, 61.0))
    again.close()
    assert {name for name in second if "events" in name} == {
        "tb/events.out.tfevents.000000",
        "tb/events.out.tfevents.000001",
    }
    assert read(folder)["train/loss"] == [(0, 0.0), (50, 51.0), (60, 61.0)]

    last = TensorBoardSink(folder)
    last.load_state_dict(first)  # the newest checkpoint was damaged
    last.write(row(50, 52.0))
    last.close()
    curves = read(folder)
    assert curves["train/loss"] == [(0, 0.0), (50, 52.0)]
    assert curves["rollout/episode_return"] == [(50, 1.0)]


def test_settings_are_read_back_and_are_there_once(tmp_path: Path) -> None:
    settings = {"env": "CartPole-v1", "gamma": 0.99, "num_env": 4, "force": False, "logdir": None, "convs": [[4, 4, 4]]}
    for steps in (0, 50):
        sink = TensorBoardSink(tmp_path, settings=settings)
        sink.write(row(steps, 1.0))
        sink.close()
    hparams, text = read_settings(tmp_path)
    assert hparams == {**settings, "logdir": "None", "convs": "[[4, 4, 4]]"}
    assert yaml.safe_load(text) == settings and all(line.startswith("    ") for line in text.splitlines())
    assert read(tmp_path)["train/loss"] == [(0, 1.0), (50, 1.0)]


def test_a_deleted_file_ends_no_run(tmp_path: Path) -> None:
    for steps in (0, 50):
        sink = TensorBoardSink(tmp_path)
        sink.write(row(steps, 1.0))
        sink.close()
    (tmp_path / "events.out.tfevents.000000").unlink()
    sink = TensorBoardSink(tmp_path)
    sink.write(row(60, 1.0))
    sink.close()
    assert read(tmp_path)["train/loss"] == [(50, 1.0), (60, 1.0)]


def test_a_folder_that_cannot_be_written_stops_no_checkpoint_and_is_taken_up_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tb"
    sink = TensorBoardSink(folder)
    folder.touch()  # in the way
    for steps in (0, 50):
        sink.write(row(steps, float(steps)))
        assert sink.state_dict()["tb/events.out.tfevents.000000"] == 0
    assert capsys.readouterr().err.count("cannot be written (File exists)") == 1
    folder.unlink()
    sink.write(row(60, 60.0))
    assert read(folder)["train/loss"] == [(0, 0.0), (50, 50.0), (60, 60.0)]
    folder.rename(tmp_path / "moved")
    sink.write(row(70, 70.0))
    sink.close()
    assert read(folder)["train/loss"] == [(70, 70.0)]


def test_what_could_not_be_looked_at_is_not_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "tb"
    first = TensorBoardSink(folder)
    first.write(row(0, 1.0))
    state = first.state_dict()
    first.close()
    folder.rename(tmp_path / "unmounted")
    second = TensorBoardSink(folder)
    second.load_state_dict(state)
    assert second.state_dict() == state
    (tmp_path / "unmounted").rename(folder)
    second.write(row(50, 2.0))
    state = second.state_dict()
    second.close()
    TensorBoardSink(folder).load_state_dict(state)
    assert read(folder)["train/loss"] == [(0, 1.0), (50, 2.0)]


def test_a_link_is_not_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "tb").mkdir()
    (tmp_path / "tb" / "events.out.tfevents.000000").symlink_to(tmp_path / "target")
    TensorBoardSink(tmp_path / "tb").load_state_dict({"tb/events.out.tfevents.000000": 3})
    assert (tmp_path / "target").read_text() == "precious"
    assert f"curves in {tmp_path / 'tb'} are incomplete" in capsys.readouterr().err


def test_settings_may_be_no_text(tmp_path: Path) -> None:
    sink = TensorBoardSink(tmp_path, settings={"logdir": "runs/\udcff"})
    sink.write(row(0, 1.0))
    sink.close()
    assert read_settings(tmp_path)[0] == {"logdir": "runs/\\udcff"}


def test_a_resumed_run_has_the_points_of_an_undisturbed_one(tmp_path: Path) -> None:
    def episode(sink: Sink, steps: int) -> None:
        sink.episodes([Episode(0, float(steps), 1, 0.0)])
        sink.progress(steps)

    undisturbed, first, second = (TensorBoardSink(tmp_path / name) for name in ("undisturbed", "resumed", "resumed"))
    for steps in range(300_000, 300_500, 100):
        episode(undisturbed, steps)
        episode(first, steps)
    between_two_points = json.dumps(first.state_dict())
    episode(first, 300_500)  # lost
    first.close()
    second.load_state_dict(json.loads(between_two_points))
    for steps in range(300_500, 301_100, 100):
        episode(undisturbed, steps)
        episode(second, steps)
    undisturbed.close()
    second.close()
    points = read(tmp_path / "undisturbed")["rollout/episode_return"]
    assert points == [(300_000, 300_000), (300_400, 300_250), (300_800, 300_650), (301_000, 300_950)]
    assert read(tmp_path / "resumed")["rollout/episode_return"] == points


def test_event_files_of_others_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "tb" / "events.out.tfevents.1795919214.host.1.0.v2"
    other.parent.mkdir()
    other.write_bytes(b"theirs")
    sink = TensorBoardSink(other.parent)
    sink.load_state_dict({f"tb/{other.name}": 6})
    sink.write(row(0, 0.5))
    sink.close()
    assert sorted(path.name for path in other.parent.iterdir()) == ["events.out.tfevents.000000", other.name]
    assert other.read_bytes() == b"theirs"


def test_a_run_without_rows_leaves_no_folder(tmp_path: Path) -> None:
    sink = TensorBoardSink(tmp_path / "tb")
    assert sink.state_dict() == {"point_at": 0, "ended": []}
    sink.close()
    assert list(tmp_path.iterdir()) == []


def use(sink: Sink) -> None:
    sink.episodes([Episode(0, 1.0, 10, 0.1)])
    sink.progress(20)
    sink.write(row(0, 0.5))
    assert sink.state_dict() == {"point_at": 20, "ended": []}
    sink.close()


def test_without_tensorboard_it_says_so_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    use(TensorBoardSink(tmp_path / "tb"))
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ("no curves for TensorBoard are written; they need: pip install tensorboard\n")


def test_it_needs_no_tensorflow(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from acer_tf.logs.tensorboard import TensorBoardSink\n"
        "assert 'tensorboard' not in sys.modules\n"
        "TensorBoardSink(pathlib.Path(sys.argv[1])).write({'total_timesteps': 1})\n"
        "assert 'tensorboard' in sys.modules and 'tensorflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert read(tmp_path) == {"time/total_timesteps": [(1, 1.0)]}
