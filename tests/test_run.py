import contextlib
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from acer_tf import run
from acer_tf.cli.trained import find_trained
from acer_tf.configs.presets import load_preset
from acer_tf.run import main
from acer_tf.storage.agent_file import read_agent
from acer_tf.storage.run_files import LOCK_FILES
from acer_tf.training.run import watch_command
from tests.counter import Counted
from tests.event_files import read
from tests.registered import registered
from tests.saved import hashes

ARGV = [
    "--total_timesteps=4e3", "--num_env=2", "--seed=1", "--num_layers=1", "--num_hidden=8", "--log_interval=50",
    "--replay_start=100", "--value_network=copy",
]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--env", "CartPol-v1"], "CartPole-v1"),
        (["--network", "ml"], "the nearest are mlp"),
        (["--evn", "CartPole-v1"], "--evn is not a flag, nor an argument of network 'mlp'; the nearest is --env."),
        (["--gamma", "7"], "gamma is 7.0; expected a number between 0 and 1"),
        (["--num_env", "0"], "num_env"),
        (["--load_path", "absent.npz"], "absent.npz does not exist"),
        (["--buffer_size", "100"], "replay would never start"),
        (["--threads", "0"], "threads is 0; expected a whole number from 1 to 1024"),
        (["--overlap", "--checkpoint_every", "100"], "give --exact_resume False, or leave overlap out"),
        (["--logdir", "/dev/null/run"], "/dev/null/run cannot be written (Not a directory); choose another folder."),
        (["--num_hiden", "3"], "num_hiden"),
        (["--value_network", "coppy"], "coppy"),
        (["--precision", "float16"], "--precision: expected one of float32, bfloat16, got 'float16'."),
        (["--logger", "3"], "--logger is not a flag, nor an argument of network 'mlp'; the nearest is"),
        (["--env", "Pendulum-v1", "--sigma", "0"], "sigma is 0.0; expected a finite number > 0"),
        (["--env", "Pendulum-v1", "--num_samples", "0"], "num_samples is 0; expected a whole number from 1 to 1024"),
        (["--reward_scale", "-1"], "reward_scale is -1.0; expected a finite number > 0"),
        (["--sigam=1"], "--sigam is not a flag, nor an argument of network 'mlp'; the nearest is --sigma."),
        (["--config=mine.yml"], "--config is not a flag, nor an argument of network 'mlp'; the nearest is --preset."),
        (["--rng=1"], "--rng is not a flag, nor an argument of network 'mlp'; --help lists them."),
        (
            ["--settings=1", "--env", "Pendulum-v1"],
            "--settings is not a flag, nor an argument of network 'mlp'",
        ),
        (
            ["--hyperparameters=1"],
            "--hyperparameters is not a flag, nor an argument of network 'mlp'; the nearest is --preset.",
        ),
        (["--stall_seconds", "0"], "stall_seconds is 0.0; expected a finite number > 0"),
        (["--env", ":CartPole-v1"], "environment ':CartPole-v1': module '' cannot be imported"),
        (["--env", "./cart.py:Cart-v0"], "'./cart.py' is a path; expected the name of a module: cart:Cart-v0"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    tmp_path: Path,
    argv: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("runs/*")), "a refused run leaves no folder"


def test_the_environment_of_a_presets_file_imports_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yml").write_text("env: this:CartPole-v1\n")
    assert main(["--preset", str(tmp_path / "mine.yml"), "--logdir", str(tmp_path / "run")]) == 2
    out, error = capsys.readouterr()
    assert error.startswith(
        f"error: preset {tmp_path / 'mine.yml'} names the environment this:CartPole-v1, whose module no file may "
        "import; allow it with: "
    )
    assert error.endswith(" --env this:CartPole-v1\n")
    assert out == ""


@pytest.mark.timeout(300)
def test_the_module_of_an_environment_is_kept_in_the_folder_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "lane.py").write_text(
        "import gymnasium\ngymnasium.register('Lane-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    short = "--total_timesteps 40 --nsteps 5 --num_layers 1 --num_hidden 4 --replay_start 10 --buffer_size 20".split()

    def acer(*words: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; sys.path.remove(''); from acer_tf.__main__ import main; sys.exit(main())"  # as the script
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = acer("run", "--env", "lane:Lane-v0", *short, "--logdir", "run")
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((tmp_path / "run" / "config.yml").read_text())["env"] == "lane:Lane-v0"
    refused = acer("evaluate", "run", "--episodes", "1")
    assert refused.returncode == 2 and "lane.py" not in refused.stderr
    sentence, _, command = refused.stderr.strip().partition("; allow it with: ")
    assert sentence == "error: run names the environment lane:Lane-v0, whose module no file may import"
    words = shlex.split(command)
    assert words[-6:] == ["evaluate", "run", "--episodes", "1", "--env", "lane:Lane-v0"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("trained") / "run"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*ARGV, "--logdir", str(folder)]) == 0
    return folder, out.getvalue()


def test_training_writes_the_run_folder(trained: tuple[Path, str]) -> None:
    folder, out = trained
    assert {path.name for path in folder.iterdir()} - {*LOCK_FILES} == {
        "checkpoints",
        "config.yml",
        "episodes.csv",
        "model.zip",
        "monitor.csv",
        "progress.csv",
        "progress.jsonl",
        "tb",
        "usage.csv",
    }
    assert str(folder / "model.zip") in out
    assert f"training on 2 x CartPole-v1 (SerialEnvs); run folder: {folder}" in out
    assert "\ndevice: " in out
    assert "rollout/episode_return" in read(folder / "tb")
    config = yaml.safe_load((folder / "config.yml").read_text())
    expected = {"env": "CartPole-v1", "num_env": 2, "seed": 1, "num_layers": 1, "value_network": "copy", "gamma": 0.99}
    assert {name: config[name] for name in expected} == expected
    assert (config["total_timesteps"], config["lrschedule"], config["replay_start"]) == (4000, "linear", 100)
    steps = np.loadtxt(folder / "episodes.csv", delimiter=",", skiprows=1)[:, 0]
    assert 0 < steps[0] <= steps[-1] <= 4000
    assert (np.diff(steps) >= 0).all()


def test_another_run_does_not_touch_the_first(trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = trained
    before = hashes(folder)
    assert main(["--logdir", str(folder)]) == 2
    error = capsys.readouterr().err
    for difference in ("num_env 2 (now 1)", "num_hidden 8 (now 64)", "value_network copy (now shared)"):
        assert difference in error
    assert hashes(folder) == before


def test_the_same_command_resumes_a_run_and_finds_it_done(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = trained
    before = hashes(folder)
    assert main([*ARGV, "--logdir", str(folder)]) == 0
    assert hashes(folder) == before
    out = capsys.readouterr().out
    assert f"resumed at step 4,000 from {folder / 'checkpoints' / 'step-000000004000'}" in out
    assert f"done at step 4,000; agent: {folder / 'model.zip'}\nto watch it: python -m acer_tf.enjoy {folder}\n" in out


def test_the_command_that_shows_an_agent_names_the_module_of_its_environment() -> None:
    assert watch_command(Path("runs/a b"), "CartPole-v1") == "python -m acer_tf.enjoy 'runs/a b'"
    assert watch_command(Path("runs/one"), "mine:Env-v0") == "python -m acer_tf.enjoy runs/one --env mine:Env-v0"


def test_training_starts_from_saved_weights(trained: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = trained
    # A learning rate of 0 keeps the weights as they were loaded.
    argv = ["--total_timesteps=40", "--num_layers=1", "--num_hidden=8", "--value_network=copy", "--lr=0"]
    loaded = ["--load_path", str(folder / "model.zip"), "--logdir", str(tmp_path / "again")]
    assert main([*argv, *loaded]) == 0
    (_, first), (_, second) = (read_agent(run / "model.zip") for run in (folder, tmp_path / "again"))
    assert first["model"].keys() == second["model"].keys()
    for name in (name for name in first["model"] if name.startswith("param/")):
        np.testing.assert_array_equal(first["model"][name], second["model"][name], err_msg=name)


def test_continuous_actions(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    argv = ["--env=Pendulum-v1", "--total_timesteps=600", "--num_env=2", "--seed=1", "--num_layers=1", "--num_hidden=4"]
    settings = ["--learn_sigma", "--sigma=0.5", "--normalize_observations", "--reward_scale=0.1", "--replay_start=100"]
    settings += ["--normalize_rewards", "--gamma=0.9"]
    assert main([*argv, *settings, "--logdir", str(folder)]) == 0
    config = yaml.safe_load((folder / "config.yml").read_text())
    expected = {"sigma": 0.5, "learn_sigma": True, "num_samples": 5, "normalize_observations": True}
    assert {name: config[name] for name in expected} == expected
    _, groups = read_agent(folder / "model.zip")
    assert groups["model"]["param/pi_sigma/log_sigma"].shape == (1,)
    moments = groups["normalization"]
    assert moments["obs_count"] >= 602 and moments["obs_mean"].shape == (3,)
    assert moments["return_count"] >= 600 and 0.3 < np.sqrt(moments["return_var"]) < 4  # of 0.1 times -16 to 0


def test_processes_of_their_own_learn_the_same(tmp_path: Path) -> None:
    # Episodes end within segments, and returns go on behind time limits: final observations matter.
    argv = [*ARGV, "--total_timesteps=1e3", "--bootstrap_truncated", "--env_kwargs", "sutton_barto_reward:true"]
    for kind in ("sync", "async"):
        assert main([*argv, "--vectorization", kind, "--logdir", str(tmp_path / kind)]) == 0
    (_, single), (_, parallel) = (read_agent(tmp_path / kind / "model.zip") for kind in ("sync", "async"))
    for group, arrays in single.items():
        for name, array in arrays.items():
            np.testing.assert_array_equal(parallel[group][name], array, err_msg=name)
    config = yaml.safe_load((tmp_path / "async" / "config.yml").read_text())
    assert (config["env_kwargs"], config["vectorization"]) == ({"sutton_barto_reward": True}, "async")
    assert find_trained(tmp_path / "async", None).env_kwargs == config["env_kwargs"]
    assert find_trained(tmp_path / "async", "Acrobot-v1").env_kwargs is None
    returns = np.loadtxt(tmp_path / "async" / "episodes.csv", delimiter=",", skiprows=1)[:, 1]
    assert set(returns) <= {-1.0, 0.0}  # by those arguments; otherwise a return is the length of its episode

    logdir = ["--logdir", str(tmp_path / "async")]
    assert main([*argv, *logdir]) == 0, "vectorization may change"
    assert main([*argv[:-2], *logdir]) == 2, "the arguments of the environment may not"


@pytest.mark.parametrize(
    ("argv", "preset", "advice"),
    [
        (["--env", "MountainCar-v0"], "baselines", ["there are settings for MountainCar-v0: --preset MountainCar-v0"]),
        (["--env", "Acrobot-v1", "--preset", "baselines"], "baselines", []),
        (["--env", "FrozenLake-v1"], "baselines", []),
        (
            ["--env", "Pendulum-v1"],
            "HalfCheetah-v5",
            [
                "continuous actions: settings of preset HalfCheetah-v5 (--preset baselines for baselines')",
                "there are settings for Pendulum-v1: --preset Pendulum-v1",
            ],
        ),
        (["--env", "Pendulum-v1", "--preset", "baselines"], "baselines", []),
    ],
)
def test_settings_without_a_preset(argv: list[str], preset: str, advice: list[str]) -> None:
    job = run.read(argv)
    assert (job.environment.env, job.run.preset) == (argv[1], preset)
    assert [*job.advice] == advice


def test_flags_without_effect_are_said() -> None:
    argv = ["--env", "CartPole-v1", "--num_workers", "2", "--eval_episodes", "20", "--eval_deterministic"]
    assert [*run.read(argv).without_effect()] == [
        "--num_workers has no effect: CartPole-v1 is not an Atari game",
        "--eval_episodes has no effect without --eval_every",
        "--eval_deterministic has no effect without --eval_every",
    ]
    assert [*run.read([*argv[2:], "--env", "PongNoFrameskip-v4", "--eval_every", "1000"]).without_effect()] == []


def test_continuous_actions_get_the_settings_tuned_for_them_and_flags_override_these() -> None:
    job = run.read(["--env", "Pendulum-v1", "--lr", "0.1", "--num_env", "2", "--vectorization", "async"])
    tuned = load_preset("HalfCheetah-v5")
    assert job.config.total_timesteps == run.OWN_DEFAULTS["total_timesteps"]
    assert (job.config.lr, job.environment.num_env) == (0.1, 2)
    assert job.gymnasium.reward_scale == tuned.command["reward_scale"]
    assert {name: getattr(job.config, name) for name in tuned.config if name not in ("lr", "total_timesteps")} == {
        name: value for name, value in tuned.config.items() if name not in ("lr", "total_timesteps")
    }
    assert job.network_kwargs["value_network"] == "copy"


@pytest.mark.parametrize("is_continuous", [False, True])
@pytest.mark.parametrize(("vectorization", "count"), [("sync", 3), ("async", 1)])
def test_no_environment_is_made_only_to_see_its_actions(
    is_continuous: bool, vectorization: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    too_large = ["--buffer_size", "1e12", "--logdir", str(tmp_path / "run")]  # so that it ends before TensorFlow
    kind = ["--env_kwargs", f"is_continuous:{is_continuous}", "--vectorization", vectorization]
    Counted.made.clear()
    Counted.closed.clear()
    with registered("Counted-v0", "tests.counter:Counted"):
        assert main(["--env", "Counted-v0", *kind, "--num_env", "3", *too_large]) == 2
    assert "lower buffer_size" in capsys.readouterr().err
    assert len(Counted.made) == count  # of async ones each has a process of its own, and gymnasium asks one here
    assert {*Counted.made} == {*Counted.closed}
