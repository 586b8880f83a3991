import json
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from acer_tf.acer import TrainingLoop
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.learning import make_model_and_loop
from acer_tf.logs.files import EpisodesCsv
from acer_tf.logs.logger import Logger
from acer_tf.storage.checkpoint import FORMAT, OtherFormatError, read_manifest, read_state, step_folder
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.durable import fingerprint, replacing
from acer_tf.training import checkpointer as checkpointing
from acer_tf.training.checkpointer import Checkpointer, write_at_last
from acer_tf.training.signals import stop_on_signals
from tests.full_disk import full_disk
from tests.saved import assert_same_rows, assert_same_runs, forge_manifest, hashes, steps

NENVS, NSTEPS = 2, 5
NBATCH = NENVS * NSTEPS
EVERY = 150
TOTAL = 600
MIDDLE = 220
"""Step of a checkpoint between two boundaries, as a signal causes one."""


def make(folder: Path, seed: int = 3) -> TrainingLoop:
    config = Config(nsteps=NSTEPS, total_timesteps=TOTAL, replay_start=20, buffer_size=100, log_interval=10**6)
    logger = Logger([EpisodesCsv(folder / "episodes.csv")])
    return make_model_and_loop(
        "mlp", make_training_env("CartPole-v1", NENVS), seed, config, logger, num_layers=1, num_hidden=4
    )


def checkpointer(
    acer: TrainingLoop, folder: Path, every: int | None = EVERY, is_exact: bool = True, **origin: Any
) -> Checkpointer:
    checkpoints = CheckpointStore(folder / "checkpoints", 100, None)
    return Checkpointer(acer, checkpoints, seed=3, every=every, is_exact=is_exact, settings={}, origin=origin)


def run(acer: TrainingLoop, saver: Checkpointer) -> TrainingLoop:
    """As the commands do it."""

    def after_iteration() -> bool:
        saver.after_iteration()
        if acer.steps == MIDDLE:
            saver.save()
        return False

    saver.begin()
    acer.learn(after_iteration)
    saver.save()
    return acer


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingLoop]:
    folder = tmp_path_factory.mktemp("undisturbed")
    acer = make(folder)
    return folder, run(acer, checkpointer(acer, folder))


def test_checkpoints_come_at_the_boundaries_and_at_the_end(undisturbed: tuple[Path, TrainingLoop]) -> None:
    folder, acer = undisturbed
    assert steps(folder / "checkpoints") == [0, 150, MIDDLE, 300, 450, 600]
    assert acer.episode_stats.has_ended
    scores = [read_manifest(step_folder(folder / "checkpoints", step)).score for step in (0, 600)]
    assert scores == [None, acer.episode_stats.mean_reward()]


@pytest.mark.parametrize("damaged", [[300, 450, 600], [MIDDLE, 300, 450, 600]])
def test_a_resumed_run_equals_the_undisturbed_one(
    undisturbed: tuple[Path, TrainingLoop], tmp_path: Path, damaged: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """From the middle between two boundaries, and from a boundary; after falling back from damaged checkpoints."""
    folder, acer = undisturbed
    shutil.copytree(folder, tmp_path / "run")
    for step in damaged:
        (step_folder(tmp_path / "run" / "checkpoints", step) / "arrays.npz").write_bytes(b"damaged")
    again = make(tmp_path / "run", seed=99)  # every random stream is in the checkpoint
    again = run(again, checkpointer(again, tmp_path / "run"))
    assert_same_runs(again, acer)
    assert_same_rows(again.buffer, acer.buffer)
    assert (tmp_path / "run" / "episodes.csv").read_bytes() == (folder / "episodes.csv").read_bytes()
    out, err = capsys.readouterr()
    resumed = MIDDLE if damaged[0] == 300 else 150
    assert f"resumed at step {resumed} from {step_folder(tmp_path / 'run' / 'checkpoints', resumed)}" in out
    assert err.count("checkpoint skipped: ") == len(damaged)


def test_damaged_replay_is_left_out_and_all_else_kept(
    undisturbed: tuple[Path, TrainingLoop], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never an older state than the newest checkpoint's, though an older one may be whole; the run goes on."""
    shutil.copytree(undisturbed[0], tmp_path / "run")
    (tmp_path / "run" / "config.yml").write_text("env: CartPole-v1\n")
    for step in (450, 600):
        shutil.rmtree(step_folder(tmp_path / "run" / "checkpoints", step))
    newest = read_manifest(step_folder(tmp_path / "run" / "checkpoints", 300))
    saved, oldest = read_state(newest), tmp_path / "run" / "checkpoints" / "replay" / newest.replay[0].name
    oldest.write_bytes(oldest.read_bytes()[:-1] + b"x")
    again = make(tmp_path / "run", seed=99)
    saver = checkpointer(again, tmp_path / "run")
    saver.begin()
    resumed = again.state_dict()
    assert again.steps == 300
    for part in ("model", "random", "runner", "episode_stats"):
        for name, leaf in saved[part].items():
            if name != "seconds":
                np.testing.assert_array_equal(leaf, resumed[part][name], err_msg=f"{part} {name}")
    assert again.buffer.num_in_buffer == sum(file.stop - file.start for file in newest.replay[1:]) > 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"1 file of replay left out: {oldest} is missing or damaged. From step 300 on, this run differs" in error
    settings = {"env": "CartPole-v1", "lost_replay": [300]}
    assert yaml.safe_load((tmp_path / "run" / "config.yml").read_text()) == settings

    again.learn(lambda: saver.after_iteration() is not None)
    third = make(tmp_path / "run", seed=99)
    checkpointer(third, tmp_path / "run").begin()
    assert third.steps == TOTAL
    assert_same_rows(third.buffer, again.buffer)
    assert capsys.readouterr().err == ""


def next_segment(acer: TrainingLoop) -> dict[str, np.ndarray]:
    """Trains one iteration more, and returns the segment that it put into replay."""
    acer.learn(end=acer.steps + NBATCH)
    return acer.buffer.rows(acer.buffer.num_put - 1, acer.buffer.num_put)


def test_without_exactness_a_resumed_run_begins_new_episodes_and_goes_on(tmp_path: Path) -> None:
    acer = make(tmp_path)
    saver = checkpointer(acer, tmp_path, is_exact=False)
    saver.begin()
    acer.learn(lambda: saver.after_iteration() is not None, end=300)  # never True
    assert steps(tmp_path / "checkpoints") == [0, 150, 300]
    saved = acer.state_dict()
    assert saved["runner"]["restart_seed"] is None
    again = make(tmp_path, seed=99)
    saver = checkpointer(again, tmp_path, is_exact=False)
    saver.begin()
    resumed = again.state_dict()
    assert again.steps == 300
    for part in ("model", "random"):
        for name, leaf in saved[part].items():
            np.testing.assert_array_equal(leaf, resumed[part][name], err_msg=f"{part} {name}")
    assert_same_rows(again.buffer, acer.buffer)
    assert again.episode_stats.mean_length() == acer.episode_stats.mean_length()
    assert not resumed["episode_stats"]["lengths"].any()
    ours, theirs = next_segment(again), next_segment(acer)
    assert ours["masks/rows"][0, :, 0].all(), "the policy is told that new episodes begin"
    assert (ours["enc_obs/rows"][0, :, 0] != theirs["enc_obs/rows"][0, :, 0]).all()


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> TrainingLoop:
    return make(tmp_path_factory.mktemp("untrained"))


@pytest.fixture
def acer(untrained: TrainingLoop, tmp_path: Path) -> TrainingLoop:
    """Does everything but train: `iterate` counts its steps."""
    untrained.steps = 0
    return untrained


def iterate(acer: TrainingLoop, saver: Checkpointer, iterations: int) -> None:
    for _ in range(iterations):
        acer.steps += NBATCH
        saver.after_iteration()


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(checkpointing.time, "monotonic", clock)
    return clock


def test_by_default_ten_minutes_lie_between_two_checkpoints(acer: TrainingLoop, tmp_path: Path, clock: Clock) -> None:
    saver = checkpointer(acer, tmp_path, every=None, is_exact=False)
    saver.begin()
    for seconds in (0, 599, 600, 700, 1199, 1200):
        clock.seconds = 1000.0 + seconds
        iterate(acer, saver, 1)
    assert steps(tmp_path / "checkpoints") == [0, 3 * NBATCH, 6 * NBATCH]


@pytest.mark.parametrize(("every", "expected"), [(1, [0, 10, 20, 30]), (15, [0, 20, 30]), (20, [0, 20]), (31, [0])])
def test_boundaries_are_counted_in_agent_steps(
    acer: TrainingLoop, tmp_path: Path, every: int, expected: list[int]
) -> None:
    saver = checkpointer(acer, tmp_path, every)
    saver.begin()
    iterate(acer, saver, 3)
    assert steps(tmp_path / "checkpoints") == expected


def restart_seed(acer: TrainingLoop) -> int:
    return acer.state_dict()["runner"]["restart_seed"]


def test_a_full_disk_stops_neither_training_nor_its_course(
    acer: TrainingLoop, tmp_path: Path, clock: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    saver = checkpointer(acer, tmp_path, every=20)
    saver.begin()
    expected = []
    for _ in range(4):
        iterate(acer, saver, 2)
        expected.append(restart_seed(acer))
    assert len(set(expected)) == 4
    shutil.rmtree(tmp_path / "checkpoints")

    acer.steps = 0
    saver.save()
    with full_disk(1000):
        seeds = []
        for _ in range(3):
            iterate(acer, saver, 2)
            seeds.append(restart_seed(acer))
        assert not saver.save()
    assert seeds == expected[:3], "the environments restart all the same"
    error = capfd.readouterr().err
    assert error.count("failed") == 2, "tried once, not at every iteration, and once when asked to"
    assert "checkpoint at step 20 failed ([Errno 27] File too large); training goes on." in error
    assert steps(tmp_path / "checkpoints") == [0]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir() if path.name.startswith(".")] == []

    iterate(acer, saver, 1)
    assert steps(tmp_path / "checkpoints") == [0]
    clock.seconds += 61
    iterate(acer, saver, 1)
    assert restart_seed(acer) == expected[3]
    iterate(acer, saver, 2)
    assert steps(tmp_path / "checkpoints") == [0, 80, 100]


def test_a_first_checkpoint_that_cannot_be_written_ends_the_run(acer: TrainingLoop, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("in the way")
    with pytest.raises(InputError, match=r"the first checkpoint cannot be written to .*checkpoints \(.*\); make room"):
        checkpointer(acer, tmp_path).begin()


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("loop", {"steps": -20}),
        ("loop", {"steps": "20"}),
        ("loop", 3),
        ("loop", {}),
        ("runner", {"seconds": "x"}),
        ("random", {}),
    ],
)
def test_a_forged_state_is_one_sentence(acer: TrainingLoop, tmp_path: Path, part: str, values: object) -> None:
    saver = checkpointer(acer, tmp_path, every=10)
    saver.begin()
    iterate(acer, saver, 2)
    path = step_folder(tmp_path / "checkpoints", 20)
    state = json.loads((path / "state.json").read_text())
    state[part] = state[part] | values if isinstance(values, dict) and values else values
    (path / "state.json").write_text(json.dumps(state))
    forge_manifest(path, files={name: fingerprint(path / name) for name in ("arrays.npz", "state.json")})
    with pytest.raises(
        InputError, match=r"step-000000000020.* (does not hold the state of this run|holds no state of a run)"
    ):
        checkpointer(acer, tmp_path).begin()


def test_a_write_error_of_any_kind_is_told(
    acer: TrainingLoop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkpoints").write_text("in the way")
    saver = checkpointer(acer, tmp_path)
    assert not saver.save()
    assert "training goes on" in capsys.readouterr().err
    (tmp_path / "checkpoints").unlink()
    assert saver.save()


def test_when_no_checkpoint_is_whole_nothing_is_changed(acer: TrainingLoop, tmp_path: Path) -> None:
    saver = checkpointer(acer, tmp_path, every=10)
    saver.begin()
    iterate(acer, saver, 2)
    for path in tmp_path.glob("checkpoints/step-*/arrays.npz"):
        path.write_bytes(b"damaged")
    before, state = sorted(tmp_path.rglob("*")), acer.state_dict()["runner"]
    acer.steps = 7
    with pytest.raises(
        InputError, match=r"none of the 3 checkpoints in .*checkpoints is whole: .*arrays\.npz is missing"
    ):
        checkpointer(acer, tmp_path).begin()
    assert sorted(tmp_path.rglob("*")) == before
    assert acer.steps == 7
    assert acer.state_dict()["runner"]["restart_seed"] == state["restart_seed"]


def test_checkpoints_of_another_version_are_left_alone(acer: TrainingLoop, tmp_path: Path) -> None:
    """Also if an older one could be resumed from."""
    saver = checkpointer(acer, tmp_path, every=10)
    saver.begin()
    iterate(acer, saver, 2)
    forge_manifest(step_folder(tmp_path / "checkpoints", 20), format=FORMAT + 1)
    before = hashes(tmp_path)
    with pytest.raises(OtherFormatError, match="resume with the version of acer_tf that wrote it"):
        checkpointer(acer, tmp_path).begin()
    assert hashes(tmp_path) == before


def test_other_software_works_and_is_told(
    acer: TrainingLoop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpointer(acer, tmp_path, cores=2, onednn="1", versions={"keras": "3.14", "numpy": "2.4"}).begin()
    checkpointer(acer, tmp_path, cores=4, onednn="1", versions={"keras": "3.15", "numpy": "2.4"}).begin()
    told = "results may differ in the last bits: cores 2 (now 4), keras 3.14 (now 3.15)\n"
    assert told in capsys.readouterr().err


def test_a_run_that_becomes_exact_restarts_its_environments(acer: TrainingLoop, tmp_path: Path) -> None:
    acer.restart_environments(1, is_recorded=False)
    checkpointer(acer, tmp_path, is_exact=False).save()
    assert read_state(read_manifest(step_folder(tmp_path / "checkpoints", 0)))["runner"]["restart_seed"] is None
    checkpointer(acer, tmp_path, is_exact=True).begin()
    assert restart_seed(acer) is not None


def test_names_of_folders_may_be_anything(acer: TrainingLoop, tmp_path: Path) -> None:
    folder = tmp_path / ("a run with späces, 'quotes' and \N{SNOWMAN}" + "x" * 150)
    checkpointer(acer, folder).begin()
    checkpointer(acer, folder).begin()
    assert steps(folder / "checkpoints") == [0]


SIZE = 100_000
"""Of the file that is written; what captures the output has room for less, but for enough."""


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointing, "RETRY_SECONDS", 0.05)


def write(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"1" * SIZE)


@pytest.mark.usefixtures("short_wait")
def test_it_is_tried_again_until_there_is_room(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, moves = tmp_path / "model.zip", []
    with full_disk(SIZE - 1) as make_room:

        def goes_on() -> bool:
            moves.append(1)
            if len(moves) == 9:
                make_room()
            return True

        write_at_last(lambda: write(path), path, goes_on)
    assert path.read_bytes() == b"1" * SIZE
    error = capfd.readouterr().err
    assert error.count(f"{path} cannot be written (File too large); make room: what was learned is kept") >= 3


@pytest.mark.usefixtures("short_wait")
def test_a_signal_ends_the_wait_with_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with full_disk(SIZE - 1), stop_on_signals() as stop:
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(InputError, match=r"model\.zip cannot be written \(File too large\); make room and resume"):
            write_at_last(lambda: write(path), path, lambda: not stop())
    assert list(tmp_path.iterdir()) == []


def test_after_a_signal_there_is_one_try(tmp_path: Path) -> None:
    calls = []
    path = tmp_path / "model.zip"
    with full_disk(SIZE - 1), pytest.raises(InputError, match="make room and resume"):
        write_at_last(lambda: [calls.append(1), write(path)], path, lambda: False)
    assert calls == [1]
    write_at_last(lambda: write(path), path, lambda: False)
    assert path.exists()
