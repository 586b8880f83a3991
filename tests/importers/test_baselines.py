"""Files of baselines, of recorded parameters: the converted weights give the recorded outputs."""

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from gymnasium.spaces import Box

from acer_tf.errors import InputError
from acer_tf.importers.baselines import read_baselines
from tests.importers.old_files import assert_gives_what_was_recorded, recording, write_joblib

NETWORKS = {
    "mlp_defaults": ("mlp", {"num_layers": 2, "num_hidden": 64, "layer_norm": False}),
    "mlp_layer_norm": ("mlp", {"num_layers": 2, "num_hidden": 32, "layer_norm": True}),
    "mlp_value_copy": ("mlp", {"num_layers": 2, "num_hidden": 32, "layer_norm": False, "value_network": "copy"}),
    "lstm": ("lstm", {"nlstm": 48, "layer_norm": False}),
    "lnlstm": ("lstm", {"nlstm": 48, "layer_norm": True}),
    "cnn": ("cnn", {}),
    "cnn_small": ("cnn_small", {}),
    "cnn_lstm": ("cnn_lstm", {"nlstm": 32, "layer_norm": False}),
    "impala_cnn": ("impala_cnn", {}),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "cnn" else []) for n in NETWORKS])
def test_weights_and_average_give_the_recorded_outputs(tmp_path: Path, name: str) -> None:
    recorded = recording(name)
    agent = read_baselines(write_joblib(tmp_path / "agent", recorded))
    assert (agent.policy, agent.policy_kwargs) == NETWORKS[name]
    assert_gives_what_was_recorded(agent, recorded)
    assert_gives_what_was_recorded(agent, recorded, average=True)


@pytest.mark.parametrize("name", ["mlp_value_copy", "lnlstm", "cnn_small", "impala_cnn"])
def test_a_file_may_have_its_parameters_in_any_order(tmp_path: Path, name: str) -> None:
    recorded = recording(name)
    variables = {f"{name}:0": array for name, array in recorded.group("param").items()}
    for number, order in enumerate((sorted(variables), sorted(variables, reverse=True))):
        joblib.dump({name: variables[name] for name in order}, tmp_path / str(number))
        agent = read_baselines(tmp_path / str(number))
        assert (agent.policy, agent.policy_kwargs) == NETWORKS[name]
        assert_gives_what_was_recorded(agent, recorded)


def test_slots_keep_their_values_under_our_names(tmp_path: Path) -> None:
    recorded = recording("cnn_small")
    agent = read_baselines(write_joblib(tmp_path / "agent", recorded))
    bias = recorded["param/acer_model/pi/c1/b"]
    assert bias.shape == (1, 8, 1, 1)
    np.testing.assert_array_equal(agent.slots["ms/pi/c1/bias"], np.abs(bias.ravel()) + 1)
    np.testing.assert_array_equal(agent.slots["mom/q_head/kernel"], recorded["param/acer_model/q/w"])
    assert agent.slots.keys() == {f"{slot}/{name}" for slot in ("ms", "mom") for name in agent.params}


def test_settings_are_those_of_baselines_learn(tmp_path: Path) -> None:
    agent = read_baselines(write_joblib(tmp_path / "agent", recording("lstm")))
    assert agent.settings == {"buffer_size": 50000, "replay_start": 10000, "bootstrap_truncated": False}


@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("mlp_defaults", Box(-np.inf, np.inf, (4,), np.float32)),
        ("lnlstm", Box(-np.inf, np.inf, (4,), np.float32)),
        ("cnn", Box(0, 255, (84, 84, 4), np.uint8)),
        ("cnn_small", Box(0, 255, (84, 84, 4), np.uint8)),
        ("cnn_lstm", None),  # of 40 x 40 pixels
        ("impala_cnn", None),  # of 24 x 24
    ],
)
def test_the_observation_space_is_told_where_the_weights_tell_it(tmp_path: Path, name: str, space: Box | None) -> None:
    recorded = recording(name)
    agent = read_baselines(write_joblib(tmp_path / "agent", recorded))
    assert agent.observation_space == space
    assert agent.action_space.n == recorded.setting("nact")


def test_a_file_of_weights_alone_has_neither_average_nor_slots(tmp_path: Path) -> None:
    """As some versions of baselines saved them."""
    recorded = recording("mlp_many_actions")
    joblib.dump({f"{name}:0": array for name, array in recorded.group("param").items()}, tmp_path / "agent")
    agent = read_baselines(tmp_path / "agent")
    assert (agent.averages, agent.slots) == ({}, {})
    assert_gives_what_was_recorded(agent, recorded)


def weights(**changes: Any) -> dict[str, Any]:
    variables = {f"{name}:0": array for name, array in recording("mlp_defaults").group("param").items()}
    variables |= {f"acer_model/{name.replace('__', '/')}:0": array for name, array in changes.items()}
    return {name: array for name, array in variables.items() if array is not None}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([np.zeros(3)], "expected parameters by name, as baselines saves them since August 2018"),
        ({"a:0": np.zeros(3)}, "such as acer_model/q/b:0"),
        ({"acer_model/q/b:0": np.zeros(2, np.float32)}, "it has no layer"),
        (weights(q__b=None), "such as acer_model/q/b:0"),
        (weights(q__b=np.zeros(2, np.int64)), "q_head holds int64, not weights"),
        (weights(pi__mlp_fc1__w=np.zeros((64, 32), np.float32)), "not one of baselines' own"),
        (weights(pi__other__w=np.zeros((64, 32), np.float32)), "not one of baselines' own"),
        (weights(vf__mlp_fc0__w=np.zeros((4, 32), np.float32)), "network of another kind"),
        (weights(q__b__RMSProp=np.zeros(2, np.float32)), "lack an average or a slot"),
        (weights(pi__layer_0__kernel=np.zeros(3, np.float32)), "does not hold an ACER agent of baselines"),
    ],
)
def test_something_else_is_refused_in_one_sentence(tmp_path: Path, value: Any, message: str) -> None:
    joblib.dump(value, tmp_path / "agent")
    with pytest.raises(InputError, match=message) as error:
        read_baselines(tmp_path / "agent")
    assert str(error.value).startswith(f"{tmp_path / 'agent'} does not hold an ACER agent of baselines (")
    assert "\n" not in str(error.value)


def test_convolutions_whose_strides_are_unknown_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="whose strides no file holds"):
        read_baselines(write_joblib(tmp_path / "agent", recording("conv_only")))
