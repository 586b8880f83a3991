import keras
import numpy as np
import pytest
from numpy.random import RandomState

from acer_tf.networks.initializers import orthogonal
from acer_tf.networks.layers import LayerNorm, conv, fc


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
