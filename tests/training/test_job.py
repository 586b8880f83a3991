import dataclasses
from pathlib import Path
from typing import Any

import pytest

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.training.job import DEFAULTS, GROUPS, Job


def test_every_setting_has_one_place_and_one_default() -> None:
    names = [field.name for kind in GROUPS.values() for field in dataclasses.fields(kind)]
    assert len(names) == len(set(names))
    assert {name: DEFAULTS[name] for name in vars(Config())} == vars(Config())


def test_settings_reach_their_groups() -> None:
    job = Job.of({"gamma": 0.5, "num_env": 3, "sigma": 0.1, "reward_scale": 2, "verbose": 0, "other": 1}, "mlp")
    assert job.config == Config(gamma=0.5)
    assert (job.environment.num_env, job.continuous.sigma, job.gymnasium.reward_scale) == (3, 0.1, 2)
    assert (job.logging.verbose, job.machine.stall_seconds, job.collecting.actors) == (0, 600, 0)


def test_the_run_folder_records_plain_values(tmp_path: Path) -> None:
    job = Job.of({"logdir": tmp_path, "force": True, "lr": 1}, "mlp", {"num_hidden": 8})
    settings = job.settings()
    assert settings.keys() == DEFAULTS.keys() - {"force", "restart_behavior"} | {"network", "num_hidden"}
    assert (settings["logdir"], settings["lr"], settings["network"]) == (str(tmp_path), 1.0, "mlp")
    atari = Job.of({"env": "PongNoFrameskip-v4"}, "cnn").settings()
    assert settings.keys() - atari.keys() == {
        "num_hidden",
        *("env_kwargs", "vectorization", "normalize_observations", "normalize_rewards", "reward_scale"),
    }


@pytest.mark.parametrize(
    ("settings", "exact"),
    [
        ({}, False),
        ({"checkpoint_every": 10}, True),
        ({"checkpoint_every": 10, "exact_resume": False}, False),
        ({"checkpoint_every": 10, "exact_resume": True}, True),
    ],
)
def test_a_run_resumes_exactly_if_its_checkpoints_are_at_given_steps(settings: dict[str, Any], exact: bool) -> None:
    assert Job.of(settings, "mlp").is_exact is exact


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 7}, "gamma is 7; expected a number between 0 and 1"),
        ({"num_env": 0}, "num_env is 0; expected a whole number >= 1"),
        ({"env": "CartPol-v1"}, "the nearest are CartPole-v1"),
        ({"load_path": Path("absent")}, "load_path absent does not exist"),
        ({"load_path": Path("a" * 300)}, r"^a{300} cannot be read \(File name too long\)\.$"),
        ({"vectorization": "both"}, "vectorization is 'both'; expected sync or async"),
        ({"exact_resume": True}, "exact_resume needs checkpoint_every"),
        ({"overlap": True, "checkpoint_every": 10}, "overlap has a segment in the making"),
        ({"publish_every": 2}, "publish_every is 2, but there are no collectors"),
        ({"actors": 1, "overlap": True}, "overlap is for environments in this process"),
        ({"actors": 1, "normalize_rewards": True}, "normalize_rewards keeps running moments"),
    ],
)
def test_what_cannot_work_is_refused_when_the_job_is_made(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Job.of(settings, "mlp")


def test_networks_are_checked() -> None:
    with pytest.raises(InputError, match="network 'mlpp' does not exist; the nearest are mlp"):
        Job.of({}, "mlpp")
    with pytest.raises(InputError, match="network 'mlp' does not take the argument num_hiden"):
        Job.of({}, "mlp", {"num_hiden": 3})
    assert Job.of({}, "mlp", {"num_hidden": 1e2, "value_network": "copy"}).network_kwargs == {
        "num_hidden": 100,
        "value_network": "copy",
    }


@pytest.mark.parametrize(
    ("network", "arguments", "message"),
    [
        ("mlp", {"num_layers": 1e9}, "num_layers is 1000000000.0; expected a whole number from 0 to 1024"),
        ("mlp", {"num_hidden": "two"}, "num_hidden is 'two'; expected a whole number >= 1"),
        ("mlp", {"activation": "thanh"}, "activation is 'thanh', which does not exist; the nearest are tanh, "),
        ("impala_cnn", {"depths": [16, 0]}, r"depths is \[16, 0\]; expected whole numbers >= 1, such as \[16, 32\]"),
        ("conv_only", {"convs": [[32, 8]]}, r"convs is \[\[32, 8\]\]; expected filters, size and stride"),
        ("MlpLstmPolicy", {"n_lstm": 0}, "n_lstm is 0; expected a whole number >= 1"),
        ("MlpPolicy", {"net_arch": "64"}, r"net_arch is '64'; expected a list such as \[64, \{pi: "),
        (
            "CnnPolicy",
            {"cnn_extractor": "cnnn"},
            "cnn_extractor is 'cnnn'; expected mlp, cnn, cnn_a3c, ",
        ),
        ("CnnPolicy", {"feature_extraction": "cn"}, "feature_extraction is 'cn'; expected mlp, cnn or multi_input"),
    ],
)
def test_arguments_of_networks_are_checked_without_building_them(
    network: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Job.of({}, network, arguments)
