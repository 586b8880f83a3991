import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.random import RandomState

from acer_tf.errors import InputError
from acer_tf.networks.layers import Conv2D, LayerNorm, Orthogonal, conv, fc, orthogonal
from acer_tf.networks.trunk import computing_in

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "ortho_init.npz")
CASES = json.loads(str(GOLDEN["config"]))["cases"]


@pytest.mark.parametrize("j", range(len(CASES)))
def test_orthogonal_weights_equal_what_baselines_recorded(j: int) -> None:
    case = CASES[j]
    weight = orthogonal(tuple(case["shape"]), case["scale"], RandomState(case["np_seed"]))
    assert weight.dtype == np.float32
    # The singular value decomposition is the linear algebra library's: equal to its last digits, not bit for bit.
    np.testing.assert_allclose(weight, GOLDEN[f"{j}/w"], atol=1e-6)


@pytest.mark.parametrize("shape", [(4, 64), (64, 3), (3, 3, 2, 40), (5, 5, 2, 7)])
def test_all_singular_values_of_orthogonal_weights_are_the_gain(shape: tuple[int, ...]) -> None:
    weight = orthogonal(shape, 1.5, RandomState(0)).reshape(-1, shape[-1])
    np.testing.assert_allclose(np.linalg.svd(weight, compute_uv=False), 1.5, rtol=1e-5)


def test_successive_draws_go_on_with_the_stream() -> None:
    initializer, rng = Orthogonal(2.0, RandomState(3)), RandomState(3)
    for shape in ((4, 5), (2, 2, 3, 4)):
        np.testing.assert_array_equal(initializer(shape), orthogonal(shape, 2.0, rng))


@pytest.mark.parametrize("shape", [(4, 10**9), (10**5, 10**6), (8, 8, 4, 10**10)])
def test_a_weight_that_memory_does_not_hold_is_refused_before_it_is_drawn(shape: tuple[int, ...]) -> None:
    rng = RandomState(0)
    before = rng.get_state(legacy=False)["state"]["pos"]
    with pytest.raises(InputError, match=r"to draw a weight of shape \(.*\) would take \S+ GiB, but \S+ GiB are free"):
        orthogonal(shape, 1.0, rng)
    assert rng.get_state(legacy=False)["state"]["pos"] == before


@pytest.mark.parametrize(
    ("shape", "size", "stride"),
    [
        ((84, 84, 4), 8, 4),  # the stride divides kernel and input
        ((20, 20, 9), 4, 2),
        ((21, 20, 4), 4, 2),  # not the height
        ((20, 21, 4), 4, 2),  # not the width
        ((20, 20, 4), 3, 2),  # not the kernel
        ((20, 20, 16), 4, 2),  # many channels
        ((9, 9, 3), 3, 1),
        ((12, 18, 1), 6, 3),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_equals_a_plain_convolution(shape: tuple[int, int, int], size: int, stride: int, dtype: str) -> None:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (3, *shape)).astype(dtype)
    ours = conv("c", 5, size, stride, RandomState(0), input_scale=1 / 255)
    theirs = keras.layers.Conv2D(5, size, stride, padding="valid", activation="relu")
    outputs = ours(pixels)
    theirs.build(pixels.shape)
    assert [variable.shape for variable in ours.variables] == [(size, size, shape[-1], 5), (5,)]
    ours.bias.assign(random.normal(size=5))
    theirs.set_weights(ours.get_weights())
    expected = theirs(pixels.astype(np.float32) / 255).numpy()
    outputs = ours(pixels).numpy()
    assert outputs.shape == expected.shape == tuple(ours.compute_output_shape(pixels.shape))
    assert 0.1 < (expected > 0).mean() < 0.9
    np.testing.assert_allclose(outputs, expected, atol=2e-6 * np.abs(expected).max())


def test_initial_weights_of_layers() -> None:
    image, row = np.zeros((1, 9, 9, 2), np.float32), np.zeros((1, 6), np.float32)
    convolution, dense = conv("c", 5, 3, 1, RandomState(1)), fc("f", 4, RandomState(1), scale=0.01)
    convolution(image), dense(row)
    np.testing.assert_array_equal(convolution.kernel, orthogonal((3, 3, 2, 5), 2**0.5, RandomState(1)))
    np.testing.assert_array_equal(dense.kernel, orthogonal((6, 4), 0.01, RandomState(1)))
    assert not np.any(convolution.bias)
    assert not np.any(dense.bias)


def test_layer_norm_normalises_the_last_axis() -> None:
    random = np.random.default_rng(0)
    x = (3 + 5 * random.normal(size=(6, 8))).astype(np.float32)
    layer = LayerNorm()
    plain = layer(x).numpy()
    np.testing.assert_allclose(plain.mean(axis=-1), 0, atol=1e-6)
    np.testing.assert_allclose(plain.std(axis=-1), 1, rtol=1e-5)
    assert [variable.name for variable in layer.trainable_variables] == ["beta", "gamma"]
    beta, gamma = random.normal(size=(2, 8)).astype(np.float32)
    layer.set_weights([beta, gamma])
    np.testing.assert_allclose(layer(x), gamma * plain + beta, rtol=1e-5, atol=1e-5)


def test_layer_norm_of_small_differences_does_not_feel_epsilon() -> None:
    x = np.array([[1e-4, -1e-4, 1e-4, -1e-4]], np.float32)
    np.testing.assert_allclose(LayerNorm()(x), [[1, -1, 1, -1]], rtol=1e-3)


@pytest.mark.parametrize("kind", ["conv", "fc", "Conv2D"])
def test_gradients_of_biases_are_not_summed_in_bfloat16(kind: str) -> None:
    """A sum of ones in bfloat16 stays at 256."""
    rows, shape = (1000, (1,)) if kind == "fc" else (10, (11, 11, 1))
    with computing_in("bfloat16"):
        layer = {
            "conv": lambda: conv("c", 2, 2, 1, RandomState(0)),
            "fc": lambda: fc("f", 2, RandomState(0)),
            "Conv2D": lambda: Conv2D(2, 2, 1),
        }[kind]()
    inputs = np.ones((rows, *shape), np.float32)
    layer.build(inputs.shape)
    layer.kernel.assign(np.ones(layer.kernel.shape))
    with tf.GradientTape() as tape:
        outputs = layer(inputs)
    assert outputs.dtype == tf.bfloat16
    gradient = tape.gradient(outputs, layer.bias.value)
    assert gradient.dtype == tf.float32
    np.testing.assert_array_equal(gradient, [1000, 1000])


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (fc("f", 5, RandomState(0), activation="tanh"), (100, 4)),
        (fc("f", 1, RandomState(0)), (100, 4)),
        (Conv2D(5, 3, 2, padding="same"), (6, 9, 9, 2)),
    ],
)
def test_layers_are_keras_own_to_the_bit(layer: keras.layers.Layer, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    inputs = random.normal(size=shape).astype(np.float32)
    layer.build(shape)
    layer.bias.assign(random.normal(size=layer.bias.shape))
    base = type(layer).__bases__[0]
    theirs = base.from_config(layer.get_config() | {"kernel_initializer": "zeros"})
    theirs.build(shape)
    theirs.set_weights(layer.get_weights())
    with tf.GradientTape(persistent=True) as tape:
        ours, expected = layer(inputs), theirs(inputs)
        losses = tf.reduce_sum(tf.sin(ours)), tf.reduce_sum(tf.sin(expected))
    np.testing.assert_array_equal(ours, expected)
    gradients = (tape.gradient(losses[i], (one.kernel.value, one.bias.value)) for i, one in enumerate((layer, theirs)))
    for array, other in zip(*gradients, strict=True):
        np.testing.assert_array_equal(array, other)
