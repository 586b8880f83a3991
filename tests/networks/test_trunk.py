"""Trunks that compute in bfloat16, next to the same ones in float32."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.networks.actor_critic import ActorCritic

PIXELS = Box(0, 255, (24, 24, 4), np.uint8)
VECTOR = Box(-np.inf, np.inf, (6,), np.float32)
N, T, NACT = 5, 4, 3
ROUNDING = 2.0**-9
"""Largest relative error of a number rounded to bfloat16."""

CASES: list[tuple[str, Box, dict[str, Any]]] = [
    ("cnn_small", PIXELS, {}),
    ("conv_only", PIXELS, {"convs": [(8, 8, 4), (4, 3, 1)]}),
    ("impala_cnn", PIXELS, {"depths": (4,)}),
    ("mlp", VECTOR, {"layer_norm": True, "value_network": "copy"}),
    (
        "CnnLstmPolicy",
        PIXELS,
        {"cnn_extractor": "cnn_small", "n_lstm": 5, "net_arch": ["lstm", {"pi": [7], "vf": [6]}]},
    ),
]


def networks(name: str, space: Box, kwargs: dict[str, Any]) -> list[ActorCritic]:
    """The same network in float32 and in bfloat16."""
    pair = []
    for precision in ("float32", "bfloat16"):
        keras.utils.set_random_seed(0)
        pair.append(ActorCritic(name, space, NACT, RandomState(0), precision, **kwargs))
    return pair


def observations(space: Box) -> NDArray[Any]:
    random = np.random.default_rng(0)
    if space is PIXELS:
        return random.integers(0, 256, (N, T, *space.shape)).astype(np.uint8)
    return random.normal(size=(N, T, *space.shape)).astype(np.float32)


def outputs_and_gradients(network: ActorCritic, obs: NDArray[Any]) -> dict[str, NDArray[np.float32]]:
    """Latents, logits and Q, the state, and the gradient of a function of them all with respect to each parameter."""
    masks = tf.constant(np.random.default_rng(1).random((N, T)) < 0.2)
    state = tf.ones([N, network.state_size]) / 2
    params = {name: variable.value for name, variable in network.params.items()}
    with tf.GradientTape() as tape:
        latents, outputs = network.trunk(obs, masks, state), network(obs, masks, state)
        tensors = {**latents._asdict(), "logits": outputs.logits, "q": outputs.q}
        loss = tf.add_n([tf.reduce_sum(tf.sin(x + np.arange(x.shape[-1]))) for x in tensors.values()])
    gradients = tape.gradient(loss, params)
    assert all(tensor.dtype == tf.float32 for tensor in [*tensors.values(), *gradients.values()])
    return {name: tensor.numpy() for name, tensor in {**tensors, **gradients}.items()}


def error(ours: NDArray[np.float32], exact: NDArray[np.float32]) -> float:
    """The norm of the difference, relative to that of the exact array."""
    return float(np.linalg.norm(ours - exact) / max(np.linalg.norm(exact), 1e-12))


@pytest.mark.parametrize(("name", "space", "kwargs"), CASES, ids=[case[0] for case in CASES])
def test_bfloat16_is_float32_but_for_rounding(name: str, space: Box, kwargs: dict[str, Any]) -> None:
    exact, rounded = networks(name, space, kwargs)
    for variable, other in zip(exact.params.values(), rounded.params.values(), strict=True):
        assert variable.dtype == other.dtype == "float32"
        np.testing.assert_array_equal(variable, other)
    obs = observations(space)
    expected, found = outputs_and_gradients(exact, obs), outputs_and_gradients(rounded, obs)
    assert expected.keys() == found.keys()
    errors = {name: error(found[name], expected[name]) for name in expected if expected[name].size}
    # Outputs pass through up to a dozen roundings. Gradients also feel units whose ReLU opens in one precision only.
    forward = {name: errors.pop(name) for name in ("policy", "critic", "state", "logits", "q") if name in errors}
    assert max(forward.values()) < 6 * ROUNDING, forward
    assert max(errors.values()) < 40 * ROUNDING, errors
    assert forward["policy"] > 0.1 * ROUNDING, "the trunk does compute in bfloat16"


@pytest.mark.parametrize("network", ["lstm", "lnlstm"])
def test_recurrent_cores_compute_in_float32(network: str) -> None:
    exact, rounded = networks(network, VECTOR, {"nlstm": 8})
    obs = observations(VECTOR)
    expected, found = outputs_and_gradients(exact, obs), outputs_and_gradients(rounded, obs)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_the_process_keeps_its_precision() -> None:
    before = keras.config.dtype_policy()
    networks("mlp", VECTOR, {})
    with pytest.raises(ZeroDivisionError):
        ActorCritic(lambda inputs: 1 // 0, VECTOR, NACT, RandomState(0), "bfloat16")
    assert keras.config.dtype_policy() is before


def test_networks_of_a_users_own_compute_in_bfloat16() -> None:
    def torso(inputs: keras.KerasTensor) -> keras.KerasTensor:
        dense = keras.layers.Dense(5, name="own")
        outputs = dense(keras.ops.cast(inputs, "float32"))
        assert (dense.compute_dtype, dense.variable_dtype, outputs.dtype) == ("bfloat16", "float32", "bfloat16")
        return outputs

    network = ActorCritic(torso, VECTOR, NACT, RandomState(0), "bfloat16")
    assert {variable.dtype for variable in network.params.values()} == {"float32"}
