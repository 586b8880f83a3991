import os
from pathlib import Path
from typing import Any

import pytest

from acer_tf.errors import InputError
from acer_tf.run import main
from acer_tf.storage.checkpoint import FORMAT, checkpoint_folders, step_folder
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.lock import locked
from acer_tf.training.job import DEFAULTS
from acer_tf.training.resume import FIXED, compared, describe
from tests.saved import forge_manifest, hashes, make_buffer, make_state

STARTED: dict[str, Any] = {
    "env": "CartPole-v1", "num_env": 2, "network": "mlp", "num_layers": 1, "seed": 7, "logdir": "a", "load_path": None,
    "num_workers": 0, "log_interval": 100, "stall_seconds": 600.0, "max_episode_frames": 108000, "nsteps": 20,
    "buffer_size": 500, "trust_region": True, "lr": 7e-4, "gamma": 0.99, "total_timesteps": 1000,
    "checkpoint_every": 100, "exact_resume": None, "keep_checkpoints": 3, "keep_every": None,
    "precision": "bfloat16",
}  # fmt: skip


def seed_of(run: Path, settings: dict[str, Any], is_forced: bool) -> int:
    found = compared(run, settings, is_forced)
    assert found is not None
    return found.seed


@pytest.fixture
def run(tmp_path: Path) -> Path:
    checkpoints = CheckpointStore(tmp_path / "run" / "checkpoints", 5, None)
    for step in (1, 2):
        checkpoints.save(step, make_state(step), make_buffer(), None, STARTED, {})
    return tmp_path / "run"


def test_without_a_run_anything_goes(tmp_path: Path) -> None:
    assert compared(tmp_path, {"seed": None, "env": "x"}, is_forced=False) is None


@pytest.mark.parametrize("seed", [7, None])
def test_the_same_settings_go_on_with_the_seed_of_the_run(run: Path, seed: int | None) -> None:
    assert seed_of(run, STARTED | {"seed": seed}, is_forced=False) == 7


@pytest.mark.parametrize(
    "changes",
    [
        {"logdir": "b", "load_path": "weights.npz", "num_workers": 2, "log_interval": 7, "stall_seconds": 1.0},
        {"checkpoint_every": None, "exact_resume": False, "keep_checkpoints": 1, "keep_every": 50},
        {"env": "module:CartPole-v1"},  # what older versions did not keep
        {"num_hidden": 64, "activation": "tanh"},  # the default, given only the second time
        {"actors": 2, "publish_every": 5, "actor_depth": 3, "max_staleness": 50},  # the machines that there are
    ],
)
def test_what_changes_nothing_may_change(run: Path, changes: dict[str, Any]) -> None:
    assert seed_of(run, STARTED | changes, is_forced=False) == 7


def test_a_run_of_an_older_version_in_lockstep_goes_on(tmp_path: Path) -> None:
    checkpoints = CheckpointStore(tmp_path / "run" / "checkpoints", 5, None)
    checkpoints.save(1, make_state(1), make_buffer(), None, STARTED | {"actors": 2, "lockstep": True}, {})
    assert seed_of(tmp_path / "run", STARTED | {"actors": 0}, is_forced=False) == 7


@pytest.mark.parametrize("changes", [{"lr": 1e-3}, {"gamma": 0.5, "total_timesteps": 2000}, {"precision": "float32"}])
def test_hyper_parameters_change_only_by_force(run: Path, changes: dict[str, Any]) -> None:
    said = ", ".join(f"{name} {STARTED[name]} (now {value})" for name, value in changes.items())
    with pytest.raises(InputError) as refused:
        compared(run, STARTED | changes, is_forced=False)
    assert str(refused.value) == f"the run in {run} has {said}; give the same, or --force to change."
    forced = compared(run, STARTED | changes, is_forced=True)
    assert forced == (2, 7, {name: (STARTED[name], value) for name, value in changes.items()})
    assert describe(forced.changed) == said


@pytest.mark.parametrize(
    "changes",
    [
        {"env": "Acrobot-v1"},
        {"network": "cnn", "num_env": 4},
        {"num_layers": 2},
        {"num_hidden": 32},
        {"layer_norm": True},
        {"seed": 8},
        {"max_episode_frames": 0},
        {"nsteps": 10},
        {"buffer_size": 1000},
        {"trust_region": False},
        {"replay_state": "stored"},
        {"bootstrap_truncated": True},
        {"action_masks": False},
        {"compress_replay": False},
        {"optimizer": "adam"},
    ],
)
@pytest.mark.parametrize("is_forced", [False, True])
def test_what_the_state_does_not_fit_never_changes(run: Path, changes: dict[str, Any], is_forced: bool) -> None:
    with pytest.raises(InputError) as refused:
        compared(run, STARTED | changes | {"lr": 1.0}, is_forced)
    started = {"num_hidden": 64, "layer_norm": False} | {name: DEFAULTS[name] for name in FIXED} | STARTED
    said = ", ".join(f"{name} {started[name]} (now {value})" for name, value in sorted(changes.items()))
    way_out = "choose another logdir, or --restart_behavior restart to keep that run under another name"
    assert str(refused.value) == f"the run in {run} has {said}, which cannot change; {way_out}."


def test_a_setting_that_a_run_did_not_have_yet_was_as_its_default(run: Path) -> None:
    assert seed_of(run, STARTED | {"overlap": False}, is_forced=False) == 7
    with pytest.raises(InputError, match="has overlap False \\(now True\\); give the same"):
        compared(run, STARTED | {"overlap": True}, is_forced=False)


def test_the_newest_readable_manifest_counts(run: Path) -> None:
    (step_folder(run / "checkpoints", 2) / "manifest.json").write_text("garbage")
    with pytest.raises(InputError, match="num_env 2"):
        compared(run, STARTED | {"num_env": 3}, is_forced=False)
    (step_folder(run / "checkpoints", 1) / "manifest.json").write_text("garbage")
    assert compared(run, STARTED, is_forced=False) is None


def test_a_folder_in_use_is_told_before_its_settings_are_compared(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(run):
        assert main(["--env", "Acrobot-v1", "--gamma", "0.5", "--logdir", str(run)]) == 69
    assert f"error: {run} is locked by process {os.getpid()}" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["--force"]])
def test_a_command_says_what_to_do_with_checkpoints_of_another_version(
    run: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in checkpoint_folders(run / "checkpoints"):
        forge_manifest(path, format=FORMAT - 1)
    before = hashes(run)
    assert main(["--env", "CartPole-v1", "--logdir", str(run), *flags]) == 2
    out, err = capsys.readouterr()
    file = step_folder(run / "checkpoints", 2) / "manifest.json"
    assert (out, err) == (
        "",
        f"error: {file} has format {FORMAT - 1}; expected {FORMAT}: resume with the version of acer_tf that wrote it, "
        "or begin anew in another folder, or with --restart_behavior restart, which keeps this one under another "
        "name.\n",
    )
    assert hashes(run) == before
