from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box
from numpy.random import RandomState

from acer_tf import policies
from acer_tf.errors import InputError
from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.networks.names import NETWORKS
from acer_tf.networks.registry import Recurrent

VECTORS = Box(-np.inf, np.inf, (4,), np.float32)
IMAGES = Box(0, 255, (36, 36, 2), np.uint8)
NACT = 3


def make(policy: str, space: Box = VECTORS, **kwargs: Any) -> ActorCritic:
    return ActorCritic(policy, space, NACT, RandomState(0), **kwargs)


def shapes(network: ActorCritic) -> dict[str, tuple[int, ...]]:
    return {name: tuple(variable.shape) for name, variable in network.params.items() if name.endswith(("kernel", "wx"))}


def outputs(network: ActorCritic, obs: Any = None, nsteps: int = 2) -> Any:
    obs = np.random.default_rng(0).normal(size=(3, nsteps, 4)).astype(np.float32) if obs is None else obs
    masks = np.zeros(obs.shape[:2], np.bool_)
    return network(tf.constant(obs), tf.constant(masks), tf.zeros([len(obs), network.state_size]))


def test_users_import_names() -> None:
    names = [name for name in vars(policies) if name.endswith("Policy")]
    assert len(names) == 8
    assert all(getattr(policies, name) == name and name in NETWORKS for name in names)


def test_mlp_policy_has_two_networks_of_64_64_tanh() -> None:
    network = make("MlpPolicy")
    assert shapes(network) == {
        "pi_fc0/kernel": (4, 64), "vf_fc0/kernel": (4, 64), "pi_fc1/kernel": (64, 64), "vf_fc1/kernel": (64, 64),
        "pi_head/kernel": (64, 3), "q_head/kernel": (64, 3),
    }  # fmt: skip
    obs = np.random.default_rng(0).normal(size=(3, 2, 4)).astype(np.float32)
    w = {name: variable.numpy() for name, variable in network.params.items()}
    for net, head, ours in (("pi", "pi_head", "logits"), ("vf", "q_head", "q")):
        h = obs
        for layer in (f"{net}_fc0", f"{net}_fc1"):
            h = np.tanh(h @ w[f"{layer}/kernel"] + w[f"{layer}/bias"])
        expected = h @ w[f"{head}/kernel"] + w[f"{head}/bias"]
        np.testing.assert_allclose(getattr(outputs(network, obs), ours), expected, rtol=1e-4, atol=1e-6)


def test_layers_are_drawn_by_turns_with_baselines_gains() -> None:
    """The policy's first, then the critic's first, and so on; orthogonal with gain √2, the head of the policy .01."""
    w = {name: variable.numpy() for name, variable in make("MlpPolicy").params.items()}
    rng = RandomState(0)
    for name, gain in (
        ("pi_fc0", np.sqrt(2)), ("vf_fc0", np.sqrt(2)), ("pi_fc1", np.sqrt(2)), ("vf_fc1", np.sqrt(2)),
        ("pi_head", 0.01), ("q_head", 1.0),
    ):  # fmt: skip
        kernel = w[f"{name}/kernel"]
        u, _, v = np.linalg.svd(rng.normal(0, 1, kernel.shape), full_matrices=False)
        np.testing.assert_allclose(kernel, gain * (u if u.shape == kernel.shape else v), rtol=1e-5, atol=1e-7)
        assert not w[f"{name}/bias"].any()


def test_net_arch_says_what_is_shared() -> None:
    network = make("MlpPolicy", net_arch=[7, 6, {"pi": [5], "vf": [4, 3]}], act_fun="relu")
    assert shapes(network) == {
        "shared/shared_fc0/kernel": (4, 7), "shared/shared_fc1/kernel": (7, 6), "pi_fc0/kernel": (6, 5),
        "vf_fc0/kernel": (6, 4), "vf_fc1/kernel": (4, 3), "pi_head/kernel": (5, 3), "q_head/kernel": (3, 3),
    }  # fmt: skip
    w = {name: variable.numpy() for name, variable in network.params.items()}
    h = obs = np.random.default_rng(0).normal(size=(3, 2, 4)).astype(np.float32)
    for layer in ("shared/shared_fc0", "shared/shared_fc1", "vf_fc0", "vf_fc1"):
        h = np.maximum(0, h @ w[f"{layer}/kernel"])
    np.testing.assert_allclose(outputs(network, obs).q, h @ w["q_head/kernel"], rtol=1e-4, atol=1e-6)
    assert list(shapes(make("MlpPolicy", net_arch=[8]))) == [
        "shared/shared_fc0/kernel", "pi_head/kernel", "q_head/kernel",
    ]  # fmt: skip
    assert shapes(make("MlpPolicy", layers=[9]))["vf_fc0/kernel"] == (4, 9)


def test_recurrent_policies() -> None:
    network = make("MlpLstmPolicy")
    assert shapes(network) == {
        "shared/shared_fc0/kernel": (4, 64), "shared/shared_fc1/kernel": (64, 64), "shared/lstm/wx": (64, 1024),
        "pi_head/kernel": (256, 3), "q_head/kernel": (256, 3),
    }  # fmt: skip
    assert network.state_size == 512
    network = make("MlpLnLstmPolicy", n_lstm=5, net_arch=[6, "lstm", 7, {"pi": [8]}])
    assert shapes(network) == {
        "shared/shared_fc0/kernel": (4, 6), "shared/lnlstm/wx": (6, 20), "after_fc0/kernel": (5, 7),
        "pi_fc0/kernel": (7, 8), "pi_head/kernel": (8, 3), "q_head/kernel": (7, 3),
    }  # fmt: skip
    given = outputs(network, nsteps=4)
    assert given.logits.shape == (3, 4, 3) and given.state.shape == (3, 10)


def test_policies_for_images() -> None:
    images = np.zeros((2, 1, 36, 36, 2), np.uint8)
    network = make("CnnPolicy", IMAGES)
    assert list(shapes(network)) == [
        *(f"shared/{layer}/kernel" for layer in ("c1", "c2", "c3", "fc1")), "pi_head/kernel", "q_head/kernel",
    ]  # fmt: skip
    assert outputs(network, images).q.shape == (2, 1, 3)
    network = make("CnnLnLstmPolicy", IMAGES, n_lstm=3, cnn_extractor="cnn_small")
    assert list(shapes(network)) == [
        *(f"shared/{layer}/kernel" for layer in ("c1", "c2", "fc1")), "shared/lnlstm/wx", "pi_head/kernel",
        "q_head/kernel",
    ]  # fmt: skip
    small = make("CnnPolicy", IMAGES, cnn_extractor=lambda x: tf.keras.layers.Flatten()(x[:, ::9, ::9]), net_arch=[4])
    assert list(shapes(small)) == ["shared/shared_fc0/kernel", "pi_head/kernel", "q_head/kernel"]


@pytest.mark.parametrize("policy", ["MultiInputPolicy", "MultiInputLstmPolicy"])
def test_whole_numbers_that_are_no_picture_need_no_cnn(policy: str) -> None:
    """As the choices of a Dict, or the memory of an Atari game."""
    network = make(policy, Box(0, 255, (7,), np.uint8))
    assert not [name for name in shapes(network) if "/c1/" in name]


def test_an_extractor_of_ones_own_gets_scaled_images() -> None:
    seen = []

    def extractor(images: Any) -> Any:
        seen.append(images.dtype)
        return tf.keras.layers.Flatten()(
            tf.keras.layers.Conv2D(1, 36, use_bias=False, kernel_initializer="ones")(images)
        )

    network = make("CnnPolicy", IMAGES, cnn_extractor=extractor, net_arch=[])
    white = np.full((1, 1, 36, 36, 2), 255, np.uint8)
    features = network.trunk(white, np.zeros((1, 1), np.bool_), np.zeros((1, 0), np.float32)).policy
    assert seen == ["float32"]
    np.testing.assert_allclose(features, [[[36 * 36 * 2]]], rtol=1e-5)


@pytest.mark.parametrize(
    ("policy", "kwargs", "message"),
    [
        (
            "MlpPolicy",
            {"net_arch": [8, "lstm"]},
            "net_arch has an 'lstm', but the policy is not recurrent; choose MlpL",
        ),
        ("MlpLstmPolicy", {"net_arch": [8]}, r"net_arch \[8\] has no single 'lstm'; expected one"),
        ("MlpPolicy", {"net_arch": 8}, r"net_arch is 8; expected a list such as \[64, dict"),
        ("MlpPolicy", {"layers": 64}, r"layers is 64; expected whole numbers >= 1, such as \[16, 32\]"),
        ("MlpLstmPolicy", {"layers": 64}, r"layers is 64; expected whole numbers >= 1, such as \[16, 32\]"),
        ("MlpLstmPolicy", {"net_arch": ["lstm", {"pi": ["lstm"]}]}, "net_arch is .*; expected a list such as"),
        ("MlpPolicy", {"net_arch": [0]}, r"net_arch is \[0\]; expected a list"),
        ("MlpPolicy", {"net_arch": [{"pi": [3], "q": [3]}]}, "net_arch is .*; expected a list"),
        ("MlpPolicy", {"net_arch": [{"pi": [3]}, 4]}, "net_arch is .*; expected a list"),
        ("MlpPolicy", {"net_arch": [{"pi": 3}]}, "net_arch is .*; expected a list"),
        ("MlpPolicy", {"n_lstm": 3}, "'MlpPolicy' does not take the argument n_lstm; expected net_arch, "),
        (
            "MlpPolicy",
            {"feature_extraction": "cn"},
            "feature_extraction is 'cn'; expected 'mlp', 'cnn' or 'multi_input'",
        ),
        (
            "MlpPolicy",
            {"value_network": "copy"},
            "value_network is 'copy', but the network itself decides what is shared",
        ),
        ("MlpPolicy", {"act_fun": "tnh"}, "the activation 'tnh' does not exist; the nearest are"),
        ("MlpLstmPolicy", {"n_lstm": 0}, "n_lstm is 0; expected a whole number >= 1"),
        ("MlpLstmPolicy", {"layer_norm": 1}, "layer_norm is 1; expected True or False"),
        ("CnnPolicy", {"cnn_extractor": "lstm"}, "cnn_extractor is 'lstm'; expected a feed-forward network"),
        ("CnnPolicy", {}, r"'CnnPolicy' is for images .*, but observations have shape \(4,\)"),
    ],
)
def test_what_cannot_work(policy: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(policy, **kwargs)


def test_a_critics_own_network_can_not_be_split() -> None:
    assert not isinstance(make("MlpPolicy").trunk.branches[0], Recurrent)
    with pytest.raises(InputError, match="value_network is 'MlpPolicy'"):
        make("mlp", value_network="MlpPolicy")
