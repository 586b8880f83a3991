import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import keras
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.random import RandomState

import acer_tf
from acer_tf.config import Continuous
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.learning import learn
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from acer_tf.networks.registry import Recurrent
from acer_tf.policies.categorical import CategoricalPolicy
from tests.agents import assert_same
from tests.scripted import ScriptedEnv
from tests.sinks import RecordingSink

SMALL = {"num_layers": 1, "num_hidden": 4}
NENVS = 2


def vec_env(env_id: str, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: gymnasium.make(env_id)] * NENVS, autoreset_mode=mode)


def quick(network: Any = "mlp", env: Any = None, **kwargs: Any) -> Model:
    kwargs = {"total_timesteps": 400, "replay_start": 40, "buffer_size": 100, "logger": Logger(), "seed": 0} | kwargs
    if network == "mlp":
        kwargs = SMALL | kwargs
    return learn(network, vec_env("CartPole-v1") if env is None else env, **kwargs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vec_env("CartPole-v1", AutoresetMode.NEXT_STEP), "autoreset mode is NEXT_STEP; make it with"),
        (lambda: gymnasium.make("CartPole-v1"), "the environment is a single one; wrap it"),
        (lambda: "CartPole-v1", "the environment is a str; expected a gymnasium.vector.VectorEnv"),
        (lambda: ScriptedEnv(np.full((9, NENVS, 3), np.nan)), "environment 0 gave an observation that is not a finite"),
    ],
)
def test_environments_that_cannot_work(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick(env=make())


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"seed": -1}, "seed is -1; expected a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": True}, "seed is True"),
        ({"gamma": 2}, "gamma is 2; expected a number between 0 and 1"),
        ({"network": "mpl"}, "network 'mpl' does not exist; the nearest are mlp"),
        ({"num_hiden": 3}, "does not take the argument num_hiden; the nearest are num_hidden"),
        ({"value_network": "coppy"}, "value_network is 'coppy'"),
        ({"network": "cnn"}, "is for images .*, but observations have shape"),
        ({"load_path": "absent.npz"}, "absent.npz is not a file"),
        ({"buffer_size": 10**12}, "lower buffer_size"),
        ({"burn_in": 20}, "burn_in 20 leaves no step of a segment of nsteps 20"),
        ({"replay_state": "stored"}, "replay_state is 'stored', but the network has no state"),
        (
            {"continuous": Continuous(sigma=0.5)},
            "sigma is 0.5, but the actions are not a Box; it belongs to Box actions, as do presets that set it",
        ),
    ],
)
def test_arguments_that_cannot_work(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick(**kwargs)


def test_network_and_schedule_may_be_functions() -> None:
    shown = []

    def network(inputs: keras.KerasTensor) -> keras.KerasTensor:
        return keras.layers.Dense(6, activation="tanh")(inputs)

    def schedule(p: float) -> float:
        shown.append(p)
        return 1.0

    model = quick(network, lrschedule=schedule, max_grad_norm=None, value_network=network)
    assert list(model.policy.params) == [
        *("pi/dense/kernel", "pi/dense/bias", "vf/dense/kernel", "vf/dense/bias"),
        *("pi_head/kernel", "pi_head/bias", "q_head/kernel", "q_head/bias"),
    ]
    assert sorted(set(shown)) == [i / 10 for i in range(10)]
    assert_same(model, quick(network, lrschedule="constant", max_grad_norm=None, value_network=network))


class LastSteps(keras.layers.Layer):
    """A memory of a user's own: the features of this step and the one before."""

    state_size = 4

    def call(self, features: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        before = tf.concat([state[:, tf.newaxis], features[:, :-1]], axis=1)
        kept = before * (1.0 - tf.cast(masks, tf.float32)[..., tf.newaxis])
        return tf.concat([features, kept], axis=-1), features[:, -1]


def test_observations_of_several_parts_and_of_choices() -> None:
    assert quick(env=vec_env("FrozenLake-v1")).params[0].shape == (16, 4)
    assert quick(env=vec_env("Blackjack-v1")).params[0].shape == (32 + 11 + 2, 4)


def test_a_network_may_have_a_memory_of_the_users_own() -> None:
    network = Recurrent(torso=lambda inputs: inputs, memory=LastSteps)
    model = quick(network, total_timesteps=120, replay_state="stored", burn_in=3)
    assert model.policy.params["pi_head/kernel"].shape == (8, 2)
    mask = np.zeros(1, np.bool_)
    first = model.act(np.ones((1, 4), np.float32), model.initial_state(1), mask)
    np.testing.assert_array_equal(first.state, np.ones((1, 4)))


@pytest.mark.parametrize(
    ("network", "settings"),
    [
        ("lstm", {"replay_state": "zero"}),
        ("lnlstm", {"replay_state": "stored"}),
        ("lstm", {"burn_in": 5, "value_network": "copy"}),
    ],
)
def test_recurrent_networks_train(network: str, settings: dict[str, Any]) -> None:
    model = quick(network, nlstm=4, nsteps=6, total_timesteps=60, **settings)
    untrained = quick(network, nlstm=4, nsteps=6, total_timesteps=12, replay_ratio=0, **settings)
    assert model.updates > untrained.updates == 1
    for param, before in zip(model.params, untrained.params, strict=True):
        assert np.isfinite(param.numpy()).all() and (param.numpy() != before.numpy()).any(), param.path
    for nenvs in (1, 3):  # trained on two
        state, mask = model.initial_state(nenvs), np.zeros(nenvs, np.bool_)
        assert (model.act(np.ones((nenvs, 4), np.float32), state, mask).state != 0).any()


def test_the_seed_decides_the_weights() -> None:
    start = quick(lr=0.0, seed=5)
    env = vec_env("CartPole-v1")
    fresh = CategoricalPolicy("mlp", env.single_observation_space, env.single_action_space, RandomState(5), **SMALL)
    for name, variable in fresh.params.items():
        np.testing.assert_array_equal(start.policy.params[name], variable, err_msg=name)
    other = quick(lr=0.0, seed=6)
    assert (other.params[0].numpy() != start.params[0].numpy()).any()
    drawn = [quick(lr=0.0, seed=None, total_timesteps=40).params[0].numpy() for _ in range(2)]
    assert (drawn[0] != drawn[1]).any()


def test_load_path_is_where_training_starts(tmp_path: Path) -> None:
    trained = quick(seed=1)
    trained.save(tmp_path / "model.npz")
    again = quick(seed=2, lr=0.0, load_path=tmp_path / "model.npz")
    for ours, theirs in zip(again.params, trained.params, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_default_logger_prints_baselines_table(capsys: pytest.CaptureFixture[str]) -> None:
    quick(logger=None, total_timesteps=40)
    out = capsys.readouterr().out
    assert "| total_timesteps " in out
    assert "| avg_norm_adj " in out


RUN = """
import sys, gymnasium, acer_tf
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from acer_tf.logs.logger import Logger
env = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
model = acer_tf.learn("mlp", env, seed=3, total_timesteps=2000, replay_start=200, buffer_size=500, logger=Logger())
model.save(sys.argv[1])
"""


@pytest.mark.slow
def test_two_processes_with_one_seed_end_equal_to_the_bit(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.npz" for i in range(2)]
    root = Path(acer_tf.__file__).parent.parent
    processes = [subprocess.Popen([sys.executable, "-c", RUN, str(path)], cwd=root) for path in paths]
    assert [process.wait() for process in processes] == [0, 0]
    with np.load(paths[0]) as first, np.load(paths[1]) as second:
        assert first.files == second.files
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.slow
def test_learns_to_balance_the_pole() -> None:
    sink = RecordingSink()
    env = make_training_env("CartPole-v1", 4)
    learn("mlp", env, seed=0, total_timesteps=40_000, buffer_size=5000, replay_start=1000, logger=Logger([sink]))
    returns = [episode.r for episode in sink.seen]
    assert np.mean(returns[:40]) < 40
    assert np.mean(returns[-20:]) > 60
