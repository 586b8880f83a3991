from pathlib import Path

import gymnasium
import pytest
import yaml

from acer_tf import run, run_atari
from acer_tf.config import Config
from acer_tf.configs.presets import load_preset, preset_names, with_preset
from acer_tf.envs.ids import SUITE  # with it, the ids of all games are registered
from acer_tf.errors import InputError
from acer_tf.networks.names import NETWORKS
from acer_tf.run import OWN_DEFAULTS, main
from acer_tf.training.job import Job

ROOT = Path(__file__).parents[2]


def job_of(name: str) -> Job:
    settings = with_preset(OWN_DEFAULTS, load_preset(name))
    return Job.of(settings | {"env": "CartPole-v1"}, settings["network"])


@pytest.mark.parametrize("name", preset_names())
def test_each_preset_that_ships_is_whole_and_makes_flags(name: str) -> None:
    preset = load_preset(name)
    assert job_of(name).run.preset == name
    if name == "baselines":
        assert with_preset(OWN_DEFAULTS, preset) == OWN_DEFAULTS
        return
    # What differs between the commands and the class is never left to them.
    assert {"env", "num_env", "network"} <= preset.command.keys()
    assert {"total_timesteps", "lrschedule", "buffer_size", "replay_start"} <= preset.config.keys()
    assert preset.command["network"] in NETWORKS
    assert preset.command["env"] in gymnasium.registry or preset.command["env"].startswith(SUITE)


def test_names_are_those_of_the_files() -> None:
    assert preset_names() == sorted(path.stem for path in (ROOT / "acer_tf" / "configs").glob("*.yml"))
    assert {"baselines", "paper", "paper-continuous", "coach-atari", "coach-cartpole", "atari"} <= set(preset_names())


def test_the_package_holds_the_files() -> None:
    assert '"configs/*.yml"' in (ROOT / "setup.py").read_text()


def test_values_are_those_of_the_file_and_defaults_elsewhere() -> None:
    settings = with_preset(OWN_DEFAULTS, load_preset("zoo-Acrobot-v1"))
    of_command = ("env", "num_env", "value_network", "normalize_observations", "reward_scale")
    assert [settings[name] for name in of_command] == ["Acrobot-v1", 16, "copy", True, 1]
    expected = Config(total_timesteps=500_000, ent_coef=0, buffer_size=5000, replay_start=1000)
    assert job_of("zoo-Acrobot-v1").config == expected


def test_papers_settings() -> None:
    discrete, continuous = load_preset("paper").config, load_preset("paper-continuous")
    assert (discrete["ent_coef"], discrete["lrschedule"]) == (0.001, "constant")
    config = Config(**continuous.config)
    assert (config.nsteps, config.c, config.alpha, config.buffer_size, config.replay_ratio) == (50, 5, 0.995, 5000, 4)
    assert not config.on_policy_updates
    assert continuous.continuous == {"sigma": 0.3, "num_samples": 5}


def test_flags_override_the_preset() -> None:
    job = run.read(["--preset=Pendulum-v1", "--gamma", "0.9", "--no_normalize_observations", "--sigma=0.2"])
    assert job.environment.env == "Pendulum-v1"
    assert (job.gymnasium.reward_scale, job.gymnasium.normalize_observations) == (0.1, False)
    assert (job.config.gamma, job.config.replay_ratio) == (0.9, 12)
    assert (job.continuous.sigma, job.continuous.num_samples) == (0.2, 5)
    assert run.read(["--preset", "Pendulum-v1", "--env", "Acrobot-v1"]).environment.env == "Acrobot-v1"


def test_arguments_of_the_presets_environment_are_not_for_another_one(tmp_path: Path) -> None:
    def env_kwargs(*argv: str) -> object:
        return run.read(argv).gymnasium.env_kwargs

    arguments = {"include_cfrc_ext_in_observation": False}
    assert env_kwargs("--preset=Ant-v5") == arguments
    assert env_kwargs("--preset=Ant-v5", "--env", "Ant-v5") == arguments
    assert env_kwargs("--preset=Ant-v5", "--env=Hopper-v5") is None
    assert env_kwargs("--preset=Ant-v5", "--env", "Hopper-v5", "--env_kwargs", "a:1") == {"a": 1}
    path = tmp_path / "any.yml"
    path.write_text("env_kwargs: {a: 1}")
    assert env_kwargs(f"--preset={path}", "--env", "Hopper-v5") == {"a": 1}


@pytest.mark.parametrize("arguments", ["{xml_file: ./own.xml}", "{render_mode: human}", "{a: [os.path]}"])
def test_arguments_of_the_environment_in_a_file_name_no_file_code_or_window(tmp_path: Path, arguments: str) -> None:
    path = tmp_path / "any.yml"
    path.write_text(f"env: Ant-v5\nenv_kwargs: {arguments}")
    with pytest.raises(InputError, match=r"^preset .*any\.yml: the file has .*: pass the arguments with --env_kwargs"):
        load_preset(path)


def test_run_atari_takes_the_network_as_its_policy() -> None:
    job = run_atari.read(["--preset", "coach-atari"])
    assert (job.network, job.environment.num_env, job.config.ent_coef) == ("cnn", 16, 0.05)


@pytest.mark.parametrize(
    ("name", "wrong"), [("Pendulum-v1", "normalize_observations"), ("coach-cartpole", "reward_scale")]
)
def test_what_a_command_lacks_is_refused(name: str, wrong: str) -> None:
    with pytest.raises(
        InputError, match=rf"^preset '{name}' sets {wrong}, which .*: python -m acer_tf\.run --preset {name}$"
    ):
        run_atari.read(["--preset", name])


def test_an_unknown_preset_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--preset", "cartpole"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: preset 'cartpole' does not exist; the nearest are ")
    assert "CartPole-v1" in error and "coach-cartpole" in error and error.count("\n") == 1


def test_files_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("lr: 7e-4\ntotal_timesteps: 2e5\nmax_grad_norm: null\nnetwork_kwargs: {num_layers: 1}\n")
    preset = load_preset(path)
    assert preset.config == {"lr": 7e-4, "total_timesteps": 200_000, "max_grad_norm": None}
    assert type(preset.config["total_timesteps"]) is int
    assert preset.network_kwargs == {"num_layers": 1} and preset.command == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ent_coeff: 0", "ent_coeff is not a setting; the nearest are ent_coef,"),
        ("learning_rate: 1", "learning_rate is not a setting; the nearest here is lr."),
        ("n_timesteps: 1", "n_timesteps is not a setting; the nearest here is total_timesteps."),
        ("num_hidden: 1", "num_hidden is an argument of the network; give it under network_kwargs."),
        ("num_evn: 3", "num_evn is not a setting; the nearest are num_env,"),
        ("ray_address: 10.0.0.1:6379", "ray_address is not a setting"),
        ("actors: 2", "actors is not a setting"),
        ("sigmas: 3", "sigmas is not a setting; the nearest are sigma,"),
        ("num_env: many", "num_env is 'many'; expected a whole number"),
        ("num_env: true", "num_env is True; expected a whole number"),
        ("reward_scale: true", "reward_scale is True; expected a finite number > 0"),
        ("normalize_observations: 1", "normalize_observations is 1; expected True or False"),
        ("value_network: own", "value_network is 'own'; expected shared or copy"),
        ("env_kwargs: 3", "env_kwargs is 3; expected values by name"),
        ("gamma: 2", "gamma is 2; expected a number between 0 and 1"),
        ("sigma: 0", "sigma is 0; expected a finite number > 0"),
        ("lrschedule: liner", "the nearest are linear"),
        ("- 1", "holds a list; expected settings by name"),
        ("", "is empty; expected settings by name"),
        ("a: [", "is not valid YAML"),
        ("a: !!python/object/apply:os.getpid []", "is not valid YAML"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"^preset .*mine.yml") as error:
        load_preset(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent.yml cannot be read \(No such file"):
        load_preset(tmp_path / "absent.yml")


def test_a_run_records_the_preset_and_what_it_stands_for(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    argv = ["--preset", "coach-cartpole", "--env", "CartPole-v1", "--total_timesteps", "40", "--num_hidden=8"]
    assert main([*argv, "--logdir", str(folder)]) == 0
    config = yaml.safe_load((folder / "config.yml").read_text())
    expected = {
        "preset": "coach-cartpole",
        "env": "CartPole-v1",
        "nsteps": 5,
        "reward_scale": 0.005,
        "activation": "relu",
    }
    assert {name: config[name] for name in expected} == expected
    assert (config["num_layers"], config["num_hidden"], config["total_timesteps"]) == (2, 8, 40)
