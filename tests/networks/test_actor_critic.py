from typing import Any

import keras
import numpy as np
import pytest
from gymnasium.spaces import Box
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.networks.layers import orthogonal
from acer_tf.networks.registry import Split

Array = NDArray[Any]
VECTOR = Box(-1, 1, (6,), np.float32)
PIXELS = Box(0, 255, (84, 84, 4), np.uint8)
HEADS = ["pi_head/kernel", "pi_head/bias", "q_head/kernel", "q_head/bias"]
MLP = ["mlp_fc0/kernel", "mlp_fc0/bias", "mlp_fc1/kernel", "mlp_fc1/bias"]


def build(network: Any = "mlp", nact: int = 3, seed: int = 0, space: Box = VECTOR, **kwargs: Any) -> ActorCritic:
    return ActorCritic(network, space, nact, RandomState(seed), **kwargs)


def outputs(network: ActorCritic, x: Array) -> tuple[Array, Array]:
    """Logits and Q of a feed-forward network, [B, A] each."""
    logits, q, _ = network(x[:, None], np.zeros((len(x), 1), np.bool_), np.zeros((len(x), 0), np.float32))
    return logits.numpy()[:, 0], q.numpy()[:, 0]


def trainable(network: ActorCritic) -> list[keras.Variable]:
    parts = [part for branch in network.trunk.branches for part in branch.parts] + network.heads
    return [variable for part in parts for variable in part.trainable_variables]


def unnamed(inputs: keras.KerasTensor) -> keras.KerasTensor:
    inner = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(3)])
    return keras.layers.Dense(5, activation="tanh")(inner(keras.layers.Dense(2)(inputs)))


def under(scope: str, names: list[str]) -> list[str]:
    return [f"{scope}/{name}" for name in names]


@pytest.mark.parametrize(
    ("network", "space", "kwargs", "names"),
    [
        ("mlp", VECTOR, {}, under("pi", MLP)),
        ("mlp", VECTOR, {"value_network": None}, under("pi", MLP)),
        ("mlp", VECTOR, {"value_network": "shared"}, under("pi", MLP)),
        ("mlp", VECTOR, {"value_network": "copy"}, under("pi", MLP) + under("vf", MLP)),
        (
            "mlp",
            VECTOR,
            {"num_layers": 1, "layer_norm": True},
            under("pi", [*MLP[:2], "layer_norm0/beta", "layer_norm0/gamma"]),
        ),
        (
            "cnn",
            PIXELS,
            {},
            [f"pi/{layer}/{name}" for layer in ("c1", "c2", "c3", "fc1") for name in ("kernel", "bias")],
        ),
        ("conv_only", PIXELS, {}, [f"pi/conv{i}/{name}" for i in range(3) for name in ("kernel", "bias")]),
        ("impala_cnn", PIXELS, {}, [f"pi/layer{i}/{name}" for i in range(16) for name in ("kernel", "bias")]),
    ],
)
def test_parameters_come_in_baselines_order(network: str, space: Box, kwargs: dict[str, Any], names: list[str]) -> None:
    built = build(network, space=space, **kwargs)
    assert list(built.params) == names + HEADS
    assert {id(variable) for variable in built.params.values()} == {id(variable) for variable in trainable(built)}


def test_weights_that_are_not_trained_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    built = build(lambda inputs: keras.layers.Dense(4, name="mine")(keras.layers.Dense(2, trainable=False)(inputs)))
    assert [*built.params] == ["pi/mine/kernel", "pi/mine/bias", *HEADS]
    assert "kernel is not trained, so no file, copy or collector has it" in capsys.readouterr().err
    build("impala_cnn", space=PIXELS)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("network", ["mlp", "cnn", "conv_only", "impala_cnn"])
def test_a_copy_has_the_names_of_the_network_that_it_copies(network: str) -> None:
    params = build(network, space=VECTOR if network == "mlp" else PIXELS, value_network="copy").params
    policy, critic = ([name[3:] for name in params if name.startswith(f"{branch}/")] for branch in ("pi", "vf"))
    assert policy and policy == critic


def test_names_of_unnamed_layers_do_not_depend_on_what_was_built_before() -> None:
    dense = ["dense/kernel", "dense/bias"]
    inner = under("sequential", [*dense, "dense_1/kernel", "dense_1/bias"])
    expected = [*dense, *inner, "dense_1/kernel", "dense_1/bias"]
    for _ in range(2):
        params = build(unnamed, value_network="copy").params
        assert list(params) == under("pi", expected) + under("vf", expected) + HEADS
        assert [variable.shape for variable in params.values()][:4] == [(6, 2), (2,), (2, 4), (4,)]


def test_outputs_are_those_of_the_two_heads() -> None:
    network = build("mlp", num_layers=1, num_hidden=5, value_network="copy", seed=1)
    params = network.params
    x = np.random.default_rng(0).normal(size=(7, 6)).astype(np.float32)
    random = np.random.default_rng(1)
    for variable in params.values():
        variable.assign(random.normal(size=variable.shape))
    weights = {name: variable.numpy() for name, variable in params.items()}
    pi = np.tanh(x @ weights["pi/mlp_fc0/kernel"] + weights["pi/mlp_fc0/bias"])
    vf = np.tanh(x @ weights["vf/mlp_fc0/kernel"] + weights["vf/mlp_fc0/bias"])
    logits, q = outputs(network, x)
    np.testing.assert_allclose(logits, pi @ weights["pi_head/kernel"] + weights["pi_head/bias"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(q, vf @ weights["q_head/kernel"] + weights["q_head/bias"], rtol=1e-4, atol=1e-5)


def test_a_shared_torso_feeds_both_heads_and_a_function_only_the_critic() -> None:
    x = np.ones((1, 6), np.float32)
    for value_network, moves in ((None, True), ("copy", False), (lambda inputs: inputs, False)):
        network = build("mlp", value_network=value_network)
        params = network.params
        before = outputs(network, x)[1]
        params["pi/mlp_fc0/bias"].assign_add(np.ones(64))
        assert np.any(outputs(network, x)[1] != before) == moves
    assert params["q_head/kernel"].shape == (6, 3)


@pytest.mark.parametrize("value_network", ["shared", "copy"])
def test_without_a_policy_head_where_features_are_as_many_as_actions(
    value_network: str, capsys: pytest.CaptureFixture[str]
) -> None:
    network = build("mlp", nact=5, num_layers=1, num_hidden=5, value_network=value_network)
    assert capsys.readouterr().err.startswith("the network's 5 features are the policy's logits, as in baselines")
    params = network.params
    assert [name for name in params if "head" in name] == ["q_head/kernel", "q_head/bias"]
    x = np.random.default_rng(0).normal(size=(7, 6)).astype(np.float32)
    logits, q = outputs(network, x)
    np.testing.assert_allclose(logits, np.tanh(x @ params["pi/mlp_fc0/kernel"].numpy()), rtol=1e-4, atol=1e-6)
    assert q.shape == (7, 5)


def test_a_policy_of_stable_baselines_always_has_its_head() -> None:
    network = build("MlpPolicy", nact=5, net_arch=[{"pi": [5], "vf": [4]}])
    shapes = {name: tuple(variable.shape) for name, variable in network.params.items() if "head" in name}
    assert shapes["pi_head/kernel"] == (5, 5)
    assert shapes["q_head/kernel"] == (4, 5)


def test_a_head_that_is_needed_is_there_whatever_the_widths(capsys: pytest.CaptureFixture[str]) -> None:
    network = ActorCritic("mlp", VECTOR, 5, RandomState(0), "float32", True, num_layers=1, num_hidden=5)
    assert network.params["pi_head/kernel"].shape == (5, 5) and capsys.readouterr().err == ""


def test_layers_that_both_branches_share_are_refused() -> None:
    model = keras.Sequential([keras.layers.Dense(4, name="mine")])
    with pytest.raises(
        InputError, match=r"^the network shares vf/sequential.*/mine/kernel between policy and critic; "
    ):
        build(model, value_network="copy")
    build(model)


def test_two_weights_of_one_name_are_refused() -> None:
    split = Split(lambda inputs: inputs, lambda x: (keras.layers.Dense(4, name="q_head")(x), x))
    with pytest.raises(InputError, match=r"^two weights of the network are named q_head/kernel; give its layers other"):
        build(split)


def test_features_of_several_axes_are_flattened() -> None:
    network = build("conv_only", nact=2, space=Box(0, 255, (16, 12, 1), np.uint8), convs=((3, 3, 2),))
    params = network.params
    assert params["q_head/kernel"].shape == (8 * 6 * 3, 2)
    assert outputs(network, np.zeros((4, 16, 12, 1), np.uint8))[0].shape == (4, 2)


def test_initial_weights_are_drawn_in_the_order_of_the_parameters() -> None:
    params = build("mlp", seed=5, value_network="copy").params
    rng = RandomState(5)
    gains = {"pi_head/kernel": 0.01, "q_head/kernel": 1.0}
    for name, variable in params.items():
        if name.endswith("bias"):
            np.testing.assert_array_equal(variable, np.zeros(variable.shape), err_msg=name)
        else:
            expected = orthogonal(tuple(variable.shape), gains.get(name, 2**0.5), rng)
            np.testing.assert_array_equal(variable, expected, err_msg=name)


@pytest.mark.parametrize("network", ["cnn_small", "impala_cnn"])
def test_initial_weights_follow_from_the_seeds(network: str) -> None:
    weights = []
    for seed in (3, 3, 4):
        keras.utils.set_random_seed(seed)
        params = build(network, space=Box(0, 255, (32, 32, 1), np.uint8), seed=seed).params
        weights.append([variable.numpy() for variable in params.values()])
    assert all((first == second).all() for first, second in zip(weights[0], weights[1], strict=True))
    assert any((first != other).any() for first, other in zip(weights[0], weights[2], strict=True))


@pytest.mark.parametrize("value_network", ["coppy", "mlp", 3])
def test_unknown_value_networks(value_network: object) -> None:
    with pytest.raises(InputError, match=f"value_network is {value_network!r}; expected 'shared', 'copy', None or a"):
        build(value_network=value_network)
