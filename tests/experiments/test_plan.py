from pathlib import Path

import pytest

from acer_tf.envs.ids import check_env_id
from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Experiment
from acer_tf.experiments.plan import decisive, plan, selected
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.storage.run_folder import read_settings
from acer_tf.trials.execution import Execution
from tests.experiments.samples import write_tiny

START = "acer_tf.run --preset=baselines --env=CartPole-v1 --total_timesteps=2000"
COMMON = "--num_env=2 --nsteps=5 --buffer_size=500 --replay_start=100 --replay_ratio"


def tiny(folder: Path) -> Experiment:
    return load_experiment(write_tiny(folder))


@pytest.mark.parametrize("name", experiment_names())
def test_training_knows_all_settings_of_the_experiments(name: str) -> None:
    whole = load_experiment(name)
    for env in whole.envs:
        check_env_id(env.id)
    few = whole._replace(envs=whole.envs[:4])
    planned = plan(few, None, Path("runs"), Execution())
    cells = len(few.envs) * len(few.variations)
    runs = len(few.variations) * sum(env.seeds for env in few.envs)
    assert len({p.trial.folder for p in planned}) == len(planned) == runs
    assert len({str((p.env.id, p.settings)) for p in planned}) == cells  # no variation is another one's twin


def test_the_trainings_of_a_seed_come_before_those_of_the_next(tmp_path: Path) -> None:
    planned = plan(tiny(tmp_path), 2, Path("x"), Execution())
    assert [" ".join(p.trial.command) for p in planned] == [
        f"{START} {COMMON}={ratio} --num_layers=1 --threads=1 --seed {seed} --logdir x/{name}/CartPole-v1/seed-{seed}"
        for seed in (4, 5)
        for name, ratio in (("a", 1), ("b", 0))
    ]
    assert planned[0].trial.folder == Path("x/a/CartPole-v1/seed-4")


def test_settings_are_those_that_are_not_baselines_defaults(tmp_path: Path) -> None:
    first, _ = plan(tiny(tmp_path), 1, Path("x"), Execution())
    assert first.settings == {
        "buffer_size": 500,
        "env": "CartPole-v1",
        "nsteps": 5,
        "num_env": 2,
        "num_layers": 1,
        "replay_ratio": 1,
        "replay_start": 100,
        "total_timesteps": 2000,
    }
    recorded = {**first.settings, "gamma": 0.99, "seed": 3, "logdir": "y", "command": "z", "cores": 5, "threads": 7}
    assert decisive(recorded) == first.settings
    assert decisive({**recorded, "gamma": 0.9})["gamma"] == 0.9


def test_settings_that_are_gone_do_not_keep_a_run_of_version_0_1_from_being_adopted() -> None:
    recorded = read_settings(Path(__file__).parents[1] / "fixtures" / "run-folders" / "mlp")
    assert recorded is not None and "lockstep" in recorded
    assert decisive(recorded) == {
        **{"buffer_size": 100, "env": "CartPole-v1", "nsteps": 10, "num_env": 2, "num_hidden": 8, "num_layers": 1},
        **{"replay_ratio": 1.0, "replay_start": 20, "total_timesteps": 400},
    }


def test_a_part_of_an_experiment(tmp_path: Path) -> None:
    part = selected(tiny(tmp_path), ("b",), ("CartPole-v1",))
    assert [v.name for v in part.variations] == ["b"]
    with pytest.raises(InputError, match="tiny has no variation 'c'; expected b"):
        selected(part, ("c",), ())
    with pytest.raises(InputError, match="tiny has no environment 'CartPole-v0'; the nearest are CartPole-v1"):
        selected(part, (), ("CartPole-v0",))


def test_a_flag_that_training_does_not_know(tmp_path: Path) -> None:
    wrong = load_experiment(write_tiny(tmp_path, flags={"nlstm": 8}))
    with pytest.raises(
        InputError, match=r"experiment tiny, variation a, CartPole-v1: --nlstm is not a flag, nor an arg"
    ):
        plan(wrong, 1, tmp_path, Execution())
    wrong = load_experiment(write_tiny(tmp_path, envs={"CartPol-v1": None}, criteria=[]))
    with pytest.raises(InputError, match="environment 'CartPol-v1' does not exist; the nearest are CartPole-v1"):
        plan(wrong, 1, tmp_path, Execution())


def test_an_environment_of_a_file_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    wrong = load_experiment(write_tiny(tmp_path, envs={"evil:Env-v0": None}, criteria=[]))
    with pytest.raises(InputError, match="the file names a module to import; --envs evil:Env-v0 allows it"):
        plan(wrong, 1, tmp_path, Execution())


def test_a_value_of_a_file_is_no_flag(tmp_path: Path) -> None:
    wrong = load_experiment(write_tiny(tmp_path, flags={"lrschedule": "--logdir=elsewhere"}))
    with pytest.raises(InputError, match="--lrschedule: expected one of"):
        plan(wrong, 1, tmp_path, Execution())


def test_the_settings_of_minatar_are_those_of_the_recorded_original() -> None:
    experiment = load_experiment("minatar-original")
    settings = plan(experiment, 1, Path("x"), Execution())[0].settings
    assert settings == {
        "env": "MinAtar/Asterix-v1",
        "network": "cnn_minatar",
        "num_env": 8,
        "buffer_size": 20_000,
        "replay_start": 2_000,
        "lrschedule": "constant",
        "total_timesteps": 300_000,
    }
