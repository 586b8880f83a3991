from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.networks.layers import orthogonal
from acer_tf.networks.lstm import LSTM, LayerNormLSTM
from acer_tf.networks.trunk import Trunk

Array = NDArray[Any]
NENVS, NSTEPS, NFEATURES, UNITS = 3, 7, 5, 4
VECTOR, PIXELS = Box(-1, 1, (6,), np.float32), Box(0, 255, (40, 40, 2), np.uint8)
PLAIN, NORMALIZED = ["wx", "wh", "b"], ["wx", "gx", "bx", "wh", "gh", "bh", "b", "gc", "bc"]
CNN = [f"{layer}/{kind}" for layer in ("c1", "c2", "c3", "fc1") for kind in ("kernel", "bias")]
HEADS = ["pi_head/kernel", "pi_head/bias", "q_head/kernel", "q_head/bias"]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def normalized(x: Array, g: Array, b: Array) -> Array:
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * g + b


def reference(w: dict[str, Array], features: Array, masks: Array, state: Array) -> tuple[Array, Array]:
    """Baselines' cells in float64, one environment and one step at a time."""
    outputs, states = np.zeros((NENVS, NSTEPS, UNITS)), np.zeros((NENVS, 2 * UNITS))
    for env in range(NENVS):
        c, h = state[env, :UNITS], state[env, UNITS:]
        for t in range(NSTEPS):
            c, h = (np.zeros(UNITS), np.zeros(UNITS)) if masks[env, t] else (c, h)
            from_x, from_h = features[env, t] @ w["wx"], h @ w["wh"]
            if "gx" in w:
                from_x, from_h = normalized(from_x, w["gx"], w["bx"]), normalized(from_h, w["gh"], w["bh"])
            i, f, o, u = np.split(from_x + from_h + w["b"], 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
            h = sigmoid(o) * np.tanh(normalized(c, w["gc"], w["bc"]) if "gc" in w else c)
            outputs[env, t] = h
        states[env] = np.concatenate([c, h])
    return outputs, states


@pytest.mark.parametrize(("layer", "names"), [(LSTM, PLAIN), (LayerNormLSTM, NORMALIZED)])
def test_equals_the_float64_reference(layer: Any, names: list[str]) -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(NENVS, NSTEPS, NFEATURES)).astype(np.float32)
    state = random.normal(size=(NENVS, 2 * UNITS)).astype(np.float32)
    masks = random.random((NENVS, NSTEPS)) < 0.3
    assert masks[:, 0].any()
    assert masks[:, 1:].any()
    cell = layer(UNITS, RandomState(0))
    cell(features, masks, state)
    for variable in cell.trainable_variables:
        variable.assign(random.normal(size=variable.shape))
    weights = {v.name: v.numpy().astype(np.float64) for v in cell.trainable_variables}
    assert list(weights) == names
    outputs, last = cell(features, masks, state)
    expected_outputs, expected_last = reference(weights, features, masks, state)
    np.testing.assert_allclose(outputs, expected_outputs, atol=1e-5)
    np.testing.assert_allclose(last, expected_last, atol=1e-5)


@pytest.mark.parametrize(
    ("network", "space", "kwargs", "torso", "cell", "units"),
    [
        ("lstm", VECTOR, {}, [], "lstm", 128),
        ("lstm", VECTOR, {"nlstm": 8, "layer_norm": True}, [], "lnlstm", 8),
        ("lnlstm", VECTOR, {"nlstm": 8}, [], "lnlstm", 8),
        ("cnn_lstm", PIXELS, {}, CNN, "lstm", 128),
        ("cnn_lstm", PIXELS, {"nlstm": 8, "layer_norm": True}, CNN, "lnlstm", 8),
        ("cnn_lnlstm", PIXELS, {"nlstm": 8}, CNN, "lnlstm", 8),
        (
            "impala_cnn_lstm",
            PIXELS,
            {},
            [f"layer{i}/{kind}" for i in range(16) for kind in ("kernel", "bias")],
            "lstm",
            256,
        ),
    ],
)
def test_parameters_and_state(
    network: str, space: Box, kwargs: dict[str, Any], torso: list[str], cell: str, units: int
) -> None:
    built = ActorCritic(network, space, 3, RandomState(0), **kwargs)
    names = [*torso, *(f"{cell}/{name}" for name in (PLAIN if cell == "lstm" else NORMALIZED))]
    assert list(built.params) == [f"pi/{name}" for name in names] + HEADS
    assert built.state_size == 2 * units
    assert built.params[f"pi/{cell}/wh"].shape == (units, 4 * units)


def test_initial_weights_are_drawn_in_the_order_of_the_parameters() -> None:
    params = ActorCritic("lnlstm", VECTOR, 3, RandomState(5), nlstm=4, value_network="copy").params
    rng = RandomState(5)
    for name, variable in params.items():
        shape = tuple(variable.shape)
        if len(shape) == 2:
            expected = orthogonal(shape, 0.01 if name == "pi_head/kernel" else 1.0, rng)
        else:
            expected = np.full(shape, float(name.split("/")[-1].startswith("g")))
        np.testing.assert_array_equal(variable, expected, err_msg=name)


def test_a_copy_for_the_critic_has_a_state_of_its_own() -> None:
    trunk = Trunk("lstm", VECTOR, RandomState(0), value_network="copy", nlstm=4)
    assert trunk.state_size == 16
    random = np.random.default_rng(0)
    obs = random.normal(size=(2, 3, 6)).astype(np.float32)
    state, masks = random.normal(size=(2, 16)).astype(np.float32), np.zeros((2, 3), np.bool_)
    policy, critic, after = trunk(obs, masks, state)
    other = state.copy()
    other[:, 8:] += 1
    other_policy, other_critic, other_after = trunk(obs, masks, other)
    np.testing.assert_array_equal(policy, other_policy)
    np.testing.assert_array_equal(after[:, :8], other_after[:, :8])
    assert (critic != other_critic).numpy().all()
    np.testing.assert_array_equal(critic[:, -1], after[:, 12:])


def test_a_critic_without_memory_beside_a_recurrent_policy() -> None:
    trunk = Trunk("lstm", VECTOR, RandomState(0), value_network=lambda inputs: inputs, nlstm=4)
    assert trunk.state_size == 8
    obs = np.random.default_rng(0).normal(size=(2, 3, 6)).astype(np.float32)
    _, critic, _ = trunk(obs, np.zeros((2, 3), np.bool_), np.ones((2, 8), np.float32))
    np.testing.assert_array_equal(critic, obs)


@pytest.mark.parametrize(
    ("network", "kwargs", "message"),
    [
        ("lstm", {"nlstm": 0}, "nlstm is 0; expected a whole number >= 1"),
        ("lnlstm", {"nlstm": 2.5}, "nlstm is 2.5; expected a whole number"),
        ("lstm", {"layer_norm": "yes"}, "layer_norm is 'yes'; expected True or False"),
        ("lstm", {"nlst": 3}, "does not take the argument nlst; the nearest are nlstm"),
        ("cnn_lstm", {}, r"'cnn_lstm' is for images .*, but observations have shape \(6,\)"),
    ],
)
def test_arguments_that_cannot_work(network: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Trunk(network, VECTOR, RandomState(0), **kwargs)
