import json
import re
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from acer_tf.agent import ACER
from acer_tf.agent.settings import ARGUMENTS, OPTIMIZERS, Settings, from_plain, to_plain
from acer_tf.errors import InputError
from tests.small_agents import tiny


@pytest.fixture(scope="module")
def settings() -> Settings:
    return tiny(_init_setup_model=False).settings


def changed(settings: Settings, **arguments: Any) -> Settings:
    return Settings.of({**settings.arguments(), **arguments})


def there_and_back(settings: Settings, **overrides: Any) -> Settings:
    plain = json.loads(json.dumps(to_plain(settings)))
    return from_plain(plain, overrides, "agent.zip")


def test_plain_settings_come_back(settings: Settings) -> None:
    assert there_and_back(settings) == settings
    assert there_and_back(settings, gamma=0.5) == changed(settings, gamma=0.5)


def test_hyper_parameters_keep_their_meaning(settings: Settings) -> None:
    config = changed(settings, n_steps=7, learning_rate=0.1, lr_schedule="constant", correction_term=3).config
    assert (config.nsteps, config.lr, config.lrschedule, config.c) == (7, 0.1, "constant", 3)
    assert Settings.of(settings.arguments()) == settings
    assert list(settings.arguments()) == ARGUMENTS


@pytest.mark.parametrize(
    ("name", "value"), [("policy", lambda x: x), ("lr_schedule", lambda p: 1.0), ("policy_kwargs", {"act_fun": len})]
)
def test_functions_are_in_no_file(settings: Settings, name: str, value: Any) -> None:
    given = changed(settings, **{name: value})
    with pytest.raises(
        InputError, match=rf"{name} in agent\.zip is or contains a function, .*ACER\.load\(path, {name}=\.\.\.\)"
    ):
        there_and_back(given)
    assert there_and_back(given, **{name: value}) == given


@pytest.mark.parametrize("function", [tf.nn.relu, tf.tanh, keras.activations.relu, keras.ops.tanh])
def test_activations_of_tensorflow_and_keras_are_names(settings: Settings, function: Any) -> None:
    given = changed(settings, policy_kwargs={"act_fun": function})
    assert given.policy_kwargs == {"act_fun": function.__name__}
    other = changed(settings, policy_kwargs={"act_fun": keras.ops.sin}).policy_kwargs
    assert other is not None and other["act_fun"] is keras.ops.sin


def test_keras_optimizers_come_back(settings: Settings) -> None:
    optimizer = keras.optimizers.Adam(0.5, beta_2=0.99, epsilon=1e-4, clipnorm=3)
    again = there_and_back(changed(settings, optimizer=optimizer, learning_rate=0.25)).config.optimizer
    assert isinstance(again, keras.optimizers.Adam)
    assert again.get_config() == {**optimizer.get_config(), "learning_rate": 0.25}


def test_every_optimizer_of_keras_comes_back_or_may_be_replaced(settings: Settings) -> None:
    for name in OPTIMIZERS:
        optimizer = getattr(keras.optimizers, name)(0.5)
        again = there_and_back(changed(settings, optimizer=optimizer, learning_rate=0.25)).config.optimizer
        assert again.get_config() == {**optimizer.get_config(), "learning_rate": 0.25}
    plain = {**to_plain(settings), "optimizer": {"class": "Gone", "arguments": {}}}
    assert from_plain(plain, {"optimizer": "rmsprop"}, "agent.zip").config.optimizer == "rmsprop"


class OwnOptimizer(keras.optimizers.SGD):
    """Of the user's own."""


def test_optimizers_of_ones_own_are_in_no_file(settings: Settings) -> None:
    with pytest.raises(InputError, match=r"optimizer in agent\.zip is or contains a function"):
        there_and_back(changed(settings, optimizer=OwnOptimizer()))


@pytest.mark.parametrize("name", ["Optimizer", "serialize", "OwnOptimizer"])
def test_nothing_but_optimizers_of_keras_is_made(
    settings: Settings, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keras.optimizers, "OwnOptimizer", OwnOptimizer, raising=False)
    with pytest.raises(ValueError, match="its optimizer is none of "):
        from_plain({**to_plain(settings), "optimizer": {"class": name, "arguments": {}}}, {}, "agent.zip")


def test_a_file_starts_no_collectors_and_names_no_address(settings: Settings) -> None:
    for name, value in {"ray_address": "there:1", "actors": 2, "actor_depth": 3}.items():
        with pytest.raises(InputError, match=rf"^agent\.zip is damaged: it sets {name}, which no agent's file does\.$"):
            from_plain({**to_plain(settings), name: value}, {}, "agent.zip")
        with pytest.raises(InputError, match=rf"it sets {name}"):
            from_plain({**to_plain(settings), name: value}, {name: value}, "agent.zip")
    assert there_and_back(settings, actors=2, ray_address="here:1").collecting.ray_address == "here:1"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n_cpu_tf_sess", 1000000, "a whole number from 1 to 1024, or None"),
        ("num_samples", 2**70, "a whole number from 1 to 1024"),
        ("replay_ratio", 1e308, "a number from 0 to 1,000,000"),
    ],
)
def test_numbers_that_no_machine_computes_with_are_refused(
    settings: Settings, name: str, value: float, expected: str
) -> None:
    with pytest.raises(InputError, match=f"{name} is {re.escape(repr(value))}; expected {expected}"):
        from_plain({**to_plain(settings), name: value}, {}, "agent.zip")


def test_unknown_overrides(settings: Settings) -> None:
    with pytest.raises(InputError, match="ACER takes no argument gama; the nearest are gamma"):
        there_and_back(settings, gama=1)


def test_arguments_are_copied() -> None:
    kwargs = {"num_layers": 1, "num_hidden": np.int64(4)}
    agent = ACER("mlp", "CartPole-v1", policy_kwargs=kwargs, _init_setup_model=False)
    kwargs["num_layers"] = 5
    assert agent.policy_kwargs["num_layers"] == 1


def test_a_bad_value_names_the_file_unless_it_is_an_override(settings: Settings) -> None:
    plain = to_plain(settings)
    with pytest.raises(InputError, match=r"^agent\.zip: ent_coef is \[\]; expected a finite number >= 0\.$"):
        from_plain({**plain, "ent_coef": []}, {}, "agent.zip")
    with pytest.raises(InputError, match=r"^ent_coef is -1; expected a finite number >= 0\.$"):
        from_plain(plain, {"ent_coef": -1}, "agent.zip")
