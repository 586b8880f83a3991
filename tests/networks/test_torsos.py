import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box
from numpy.random import RandomState

from acer_tf.errors import InputError
from acer_tf.networks import torsos
from acer_tf.networks.registry import NetworkFn, network_fn
from acer_tf.networks.trunk import Branch

PIXELS = keras.Input((84, 84, 4), dtype="uint8")
VECTOR = keras.Input((6,), dtype="float32")


def build(torso: NetworkFn, inputs: keras.KerasTensor) -> keras.Model:
    return keras.Model(inputs, torso(inputs))


@pytest.mark.parametrize(
    ("torso", "inputs", "features", "count"),
    [
        (torsos.mlp(RandomState(0)), VECTOR, (64,), 6 * 64 + 64 + 64 * 64 + 64),
        (torsos.mlp(RandomState(0), num_layers=1, num_hidden=5, layer_norm=True), VECTOR, (5,), 6 * 5 + 5 + 2 * 5),
        (torsos.mlp(RandomState(0), num_layers=0), VECTOR, (6,), 0),
        (
            torsos.nature_cnn(RandomState(0)),
            PIXELS,
            (512,),
            (8 * 8 * 4 * 32 + 32) + (4 * 4 * 32 * 64 + 64) + (3 * 3 * 64 * 64 + 64) + (7 * 7 * 64 * 512 + 512),
        ),
        (
            torsos.cnn_small(RandomState(0)),
            PIXELS,
            (128,),
            (8 * 8 * 4 * 8 + 8) + (4 * 4 * 8 * 16 + 16) + (9 * 9 * 16 * 128 + 128),
        ),
        (
            torsos.cnn_a3c(RandomState(0)),
            PIXELS,
            (256,),
            (8 * 8 * 4 * 16 + 16) + (4 * 4 * 16 * 32 + 32) + (9 * 9 * 32 * 256 + 256),
        ),
        (
            torsos.cnn_minatar(RandomState(0)),
            keras.Input((10, 10, 7), dtype="uint8"),
            (128,),
            (3 * 3 * 7 * 16 + 16) + (8 * 8 * 16 * 128 + 128),
        ),
        (
            torsos.conv_only(RandomState(0)),
            PIXELS,
            (11 * 11 * 64,),
            (8 * 8 * 4 * 32 + 32) + (4 * 4 * 32 * 64 + 64) + (3 * 3 * 64 * 64 + 64),
        ),
        (torsos.conv_only(RandomState(0), convs=((3, 5, 2),)), PIXELS, (42 * 42 * 3,), 5 * 5 * 4 * 3 + 3),
        (
            torsos.impala_cnn(RandomState(0)),
            PIXELS,
            (256,),
            # (input → depth, then four of depth → depth) for 16, 32, 32, and 11 · 11 · 32 → 256
            (9 * 4 * 16 + 16 + 4 * (9 * 16 * 16 + 16))
            + (9 * 16 * 32 + 32 + 4 * (9 * 32 * 32 + 32))
            + (9 * 32 * 32 + 32 + 4 * (9 * 32 * 32 + 32))
            + (11 * 11 * 32 * 256 + 256),
        ),
    ],
)
def test_features_and_number_of_parameters(
    torso: NetworkFn, inputs: keras.KerasTensor, features: tuple[int, ...], count: int
) -> None:
    model = build(torso, inputs)
    assert model.output_shape == (None, *features)
    assert model.count_params() == count


@pytest.mark.parametrize("name", ["cnn", "cnn_a3c", "cnn_small", "cnn_minatar", "conv_only", "impala_cnn"])
def test_pixels_are_divided_by_255(name: str) -> None:
    model = build(network_fn(name, RandomState(0), {}), keras.Input((40, 40, 2), dtype="float32"))
    first = next(layer for layer in model.layers if layer.weights)
    for weight, value in zip(first.weights, (1, 0), strict=True):
        weight.assign(np.full(weight.shape, value))
    sums = keras.Model(model.input, first.output)(np.full((1, 40, 40, 2), 51, np.float32))
    np.testing.assert_allclose(np.max(sums), 51 / 255 * 2 * np.prod(first.kernel_size), rtol=1e-5)


def test_mlp_is_what_it_says() -> None:
    model = build(torsos.mlp(RandomState(0), num_layers=2, num_hidden=4, activation="relu"), VECTOR)
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    w0, b0, w1, b1 = model.get_weights()
    np.testing.assert_allclose(model(x), np.maximum(np.maximum(x @ w0 + b0, 0) @ w1 + b1, 0), rtol=1e-5, atol=1e-6)
    tanh = build(torsos.mlp(RandomState(0), num_layers=1, num_hidden=4), VECTOR)
    w, b = tanh.get_weights()
    np.testing.assert_allclose(tanh(x), np.tanh(x @ w + b), rtol=1e-5, atol=1e-6)


def test_mlp_normalises_before_the_activation() -> None:
    model = build(torsos.mlp(RandomState(0), num_layers=1, num_hidden=4, layer_norm=True), VECTOR)
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    h = x @ model.get_weights()[0]
    h = (h - h.mean(axis=-1, keepdims=True)) / h.std(axis=-1, keepdims=True)
    np.testing.assert_allclose(model(x), np.tanh(h), rtol=1e-4, atol=1e-5)


def test_mlp_takes_images_too() -> None:
    model = build(torsos.mlp(RandomState(0), num_layers=1, num_hidden=4), keras.Input((3, 2), dtype="int16"))
    x = np.arange(12, dtype=np.int16).reshape(2, 3, 2)
    w, b = model.get_weights()
    np.testing.assert_allclose(model(x), np.tanh(x.reshape(2, 6) @ w + b), rtol=1e-5)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_layers": -1}, "num_layers is -1; expected a whole number from 0 to 1024"),
        ({"num_layers": "2"}, "num_layers is '2'"),
        ({"num_hidden": -1}, "num_hidden is -1; expected a whole number >= 1"),
        ({"num_hidden": 64.5}, "num_hidden is 64.5; expected a whole number >= 1"),
        ({"layer_norm": "no"}, "layer_norm is 'no'; expected True or False"),
    ],
)
def test_mlp_refuses_arguments_of_the_wrong_kind(kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        network_fn("mlp", RandomState(0), kwargs)


def test_whole_numbers_may_be_written_as_floats_are() -> None:
    features = network_fn("mlp", RandomState(0), {"num_hidden": 1e2, "num_layers": 1.0})(keras.Input((3,)))
    assert features.shape == (None, 100)


def test_names_and_arguments_known_without_tensorflow_are_those_registered() -> None:
    code = """
import inspect
import acer_tf.networks.actor_critic
from acer_tf.networks.names import NETWORKS
from acer_tf.networks.registry import _BUILDERS
from acer_tf.schema import is_setting, validated

assert NETWORKS.keys() == _BUILDERS.keys()
for name, builder in _BUILDERS.items():
    _, *parameters = inspect.signature(builder).parameters.values()
    assert {p.name: p.default for p in parameters} == {n: a.default for n, a in NETWORKS[name].items()}, name
    kinds = {p.name: p.annotation for p in parameters if is_setting(p.annotation)}
    assert kinds == {n: NETWORKS[name][n].kind for n in kinds}, name
    assert all(validated(n, a.default, a.kind) == a.default for n, a in NETWORKS[name].items()), name
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["mlp", "cnn_small"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_every_real_dtype_gives_what_float32_gives(name: str, dtype: str) -> None:
    space = Box(0, 1, (36, 36, 1), dtype)
    obs = np.random.default_rng(0).integers(0, 2, (1, 3, *space.shape))
    ours, expected = (
        Branch("pi", network_fn(name, RandomState(0), {}), Box(0, 1, space.shape, kind), "float32")(
            tf.constant(obs.astype(kind)), tf.zeros([1, 3], tf.bool), tf.zeros([1, 0])
        )[0]
        for kind in (dtype, "float32")
    )
    np.testing.assert_array_equal(ours, expected)
    assert np.std(expected) > 0
