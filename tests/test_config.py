import math
from typing import Any

import numpy as np
import pytest

from acer_tf.config import Config, Continuous
from acer_tf.errors import InputError
from acer_tf.maths.schedules import SCHEDULES

WEIGHTS = ["q_coef", "ent_coef", "lr", "delta"]
NONE = [math.nan, math.inf, "1", True]
"""Values that are no number where one is expected."""
WRONG = [
    (["nsteps", "total_timesteps", "log_interval", "buffer_size"], [0, -1, 2.5, *NONE, None], "a whole number >= 1"),
    (["replay_start", "burn_in"], [-1, 2.5, *NONE, None], "a whole number >= 0"),
    (WEIGHTS, [-1e-9, *NONE, None], "a finite number >= 0"),
    (["replay_ratio"], [-1e-9, *NONE, None], "a number from 0 to 1,000,000"),
    (["rprop_epsilon", "c"], [0, -1.0, *NONE, None], "a finite number > 0"),
    (["max_grad_norm"], [0, -1, *NONE], "a finite number > 0, or None"),
    (["gamma", "alpha", "rprop_alpha"], [-0.1, 1.01, *NONE, None], "a number between 0 and 1"),
    (["q_lambda"], [-0.1, 1.1, *NONE], "a number between 0 and 1, or None"),
    (["trust_region", "correction", "on_policy_updates", "overlap"], [1, "True", None], "True or False"),
    (["replay_state"], ["Stored", "none", 0, None, True], "zero or stored"),
    (["precision"], ["float16", "bfloat", 16, None, np.float32], "float32 or bfloat16"),
]
WRONG_OF_CONTINUOUS = [
    (["sigma"], [0, -0.3, *NONE], "a finite number > 0"),
    (["num_samples"], [0, -1, 2.5, *NONE], "a whole number from 1 to 1024"),
    (["learn_sigma", "dueling", "use_q_opc"], [1], "True or False"),
]


@pytest.mark.parametrize(
    ("settings", "name", "value", "expected"),
    [
        (settings, name, value, expected)
        for settings, rows in ((Config, WRONG), (Continuous, WRONG_OF_CONTINUOUS))
        for names, values, expected in rows
        for name in names
        for value in values
    ],
)
def test_wrong_values(settings: type, name: str, value: Any, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(**{name: value})
    assert str(caught.value) == f"{name} is {value!r}; expected {expected}."


def test_defaults_are_those_of_baselines() -> None:
    expected = {
        "nsteps": 20,
        "total_timesteps": 80_000_000,
        "q_coef": 0.5,
        "ent_coef": 0.01,
        "max_grad_norm": 10,
        "lr": 7e-4,
        "lrschedule": "linear",
        "rprop_epsilon": 1e-5,
        "rprop_alpha": 0.99,
        "gamma": 0.99,
        "log_interval": 100,
        "buffer_size": 50_000,
        "replay_ratio": 4,
        "replay_start": 10_000,
        "c": 10.0,
        "trust_region": True,
        "alpha": 0.99,
        "delta": 1,
        "correction": True,
        "q_lambda": None,
        "on_policy_updates": True,
        "action_masks": True,
        "compress_replay": True,
        "replay_state": "zero",
        "burn_in": 0,
        "optimizer": "rmsprop",
        "bootstrap_truncated": False,
        "overlap": False,
        "precision": "float32",
    }
    assert vars(Config()) == expected


def test_schedules_come_with_the_nearest() -> None:
    with pytest.raises(
        InputError, match="'midle_drop' does not exist; the nearest are middle_drop, double_middle_drop"
    ):
        Config(lrschedule="midle_drop")
    with pytest.raises(InputError, match="lrschedule is 3; expected a name or a function"):
        Config(lrschedule=3)  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match=r"^lrschedule cannot be called with the fraction of training, a number: .* 0 po"
    ):
        Config(lrschedule=lambda: 1)  # type: ignore[arg-type,misc]
    for wrong in (lambda p: None, lambda p: 1e42):
        with pytest.raises(
            InputError, match=r"^the schedule of the learning rate gives .* after 0\.0% of training; exp"
        ):
            Config(lrschedule=wrong)  # type: ignore[arg-type]


def test_replay_must_be_able_to_start() -> None:
    with pytest.raises(
        InputError, match="buffer_size 100 is smaller than replay_start 101, so replay would never start"
    ):
        Config(buffer_size=100, replay_start=101)
    with pytest.raises(InputError, match=r"buffer_size 19 is smaller than one segment \(nsteps 20\)"):
        Config(buffer_size=19, replay_start=0)
    Config(buffer_size=100, replay_start=100)
    Config(buffer_size=1, replay_ratio=0)  # nothing is kept


def test_the_burn_in_is_shorter_than_a_segment() -> None:
    for burn_in in (20, 21):
        with pytest.raises(
            InputError, match=f"^burn_in {burn_in} leaves no step of a segment of nsteps 20 to train on"
        ):
            Config(burn_in=burn_in)
    Config(burn_in=19)


@pytest.mark.parametrize(
    "values",
    [
        {"replay_state": "stored", "burn_in": 3},
        *[{"lrschedule": name} for name in SCHEDULES],
        {"lrschedule": lambda p: 1.0},
        {"max_grad_norm": None},
        {"c": 1e30},
        {"replay_start": 0},
        {"trust_region": np.bool_(False)},
        {"nsteps": np.int64(5), "lr": np.float32(0.1), "gamma": np.float64(1), "alpha": 0},
        {name: 0 for name in (*WEIGHTS, "replay_ratio")},
    ],
)
def test_what_is_accepted(values: dict[str, Any]) -> None:
    config = Config(**values)
    assert {name: getattr(config, name) for name in values} == values


def test_real_numbers_may_be_given_as_whole_ones() -> None:
    config = Config(q_lambda=1, lr=0, c=5, max_grad_norm=None, nsteps=7)
    assert [type(x) for x in (config.q_lambda, config.lr, config.c)] == [float] * 3
    assert config.max_grad_norm is None and type(config.nsteps) is int


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lr": -1}, "^learning_rate is -1; expected"),
        ({"lrschedule": "liner"}, "^learning_course 'liner' does not exist"),
        ({"nsteps": 30, "buffer_size": 20, "replay_start": 0}, "is smaller than one segment .n_steps 30.;"),
        ({"burn_in": 20}, "of a segment of n_steps 20 to train on; make burn_in smaller than n_steps"),
        ({"gamma": 2}, "^gamma is 2; expected"),
    ],
)
def test_messages_use_the_names_that_the_user_gave(values: dict[str, Any], message: str) -> None:
    names = {"lr": "learning_rate", "lrschedule": "learning_course", "nsteps": "n_steps"}
    with pytest.raises(InputError, match=message):
        Config(**values, names=names)


def test_something_must_be_trained_on() -> None:
    with pytest.raises(InputError, match="nothing would be trained on"):
        Config(on_policy_updates=False, replay_ratio=0)
    with pytest.raises(InputError, match="nothing to overlap with"):
        Config(overlap=True, replay_ratio=0)


def test_defaults_for_continuous_actions_are_the_papers() -> None:
    expected = {"sigma": 0.3, "learn_sigma": False, "num_samples": 5, "dueling": True, "use_q_opc": True}
    assert vars(Continuous()) == expected
