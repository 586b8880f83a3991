"""Baselines' feed-forward networks (`common/models.py`), layer for layer."""

import itertools

import keras
import numpy as np
from keras import KerasTensor

from acer_tf.errors import InputError
from acer_tf.networks.layers import SQRT2, LayerNorm, conv, fc
from acer_tf.networks.registry import NetworkFn, register


def _pixels(inputs: KerasTensor) -> KerasTensor:
    """Scales by 255 whatever the dtype is, as baselines does."""
    return keras.ops.cast(inputs, "float32") / 255.0


@register("mlp")
def mlp(
    rng: np.random.RandomState,
    num_layers: int = 2,
    num_hidden: int = 64,
    activation: str = "tanh",
    layer_norm: bool = False,
) -> NetworkFn:
    """Fully connected layers; with `layer_norm`, normalised before the activation.

    Raises:
        InputError: `num_layers` or `layer_norm` is of the wrong kind.
    """
    if not isinstance(num_layers, int) or num_layers < 0:
        raise InputError(f"num_layers is {num_layers!r}; expected a whole number >= 0.")
    if not isinstance(layer_norm, bool):
        raise InputError(f"layer_norm is {layer_norm!r}; expected True or False.")

    def torso(inputs: KerasTensor) -> KerasTensor:
        h = keras.layers.Flatten()(keras.ops.cast(inputs, "float32"))
        for i in range(num_layers):
            h = fc(f"mlp_fc{i}", num_hidden, rng, scale=SQRT2)(h)
            if layer_norm:
                h = LayerNorm(name=f"layer_norm{i}")(h)
            h = keras.layers.Activation(activation)(h)
        return h

    return torso


@register("cnn", sees_pixels=True)
def nature_cnn(rng: np.random.RandomState) -> NetworkFn:
    """The network of the Nature DQN paper: three convolutions and 512 units."""

    def torso(inputs: KerasTensor) -> KerasTensor:
        h = conv("c1", filters=32, size=8, stride=4, rng=rng, input_scale=1 / 255)(inputs)
        h = conv("c2", filters=64, size=4, stride=2, rng=rng)(h)
        h = conv("c3", filters=64, size=3, stride=1, rng=rng)(h)
        return fc("fc1", 512, rng, scale=SQRT2, activation="relu")(keras.layers.Flatten()(h))

    return torso


@register("cnn_small", sees_pixels=True)
def cnn_small(rng: np.random.RandomState) -> NetworkFn:
    """Two small convolutions and 128 units."""

    def torso(inputs: KerasTensor) -> KerasTensor:
        h = conv("c1", filters=8, size=8, stride=4, rng=rng, input_scale=1 / 255)(inputs)
        h = conv("c2", filters=16, size=4, stride=2, rng=rng)(h)
        return fc("fc1", 128, rng, scale=SQRT2, activation="relu")(keras.layers.Flatten()(h))

    return torso


@register("conv_only", sees_pixels=True)
def conv_only(
    rng: np.random.RandomState, convs: tuple[tuple[int, int, int], ...] = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
) -> NetworkFn:
    """Convolutions alone, (filters, size, stride) each, padded, with Glorot-uniform weights from Keras' generator."""

    def torso(inputs: KerasTensor) -> KerasTensor:
        h = _pixels(inputs)
        for i, (filters, size, stride) in enumerate(convs):
            h = keras.layers.Conv2D(filters, size, stride, padding="same", activation="relu", name=f"conv{i}")(h)
        return h

    return torso


@register("impala_cnn", sees_pixels=True)
def impala_cnn(rng: np.random.RandomState, depths: tuple[int, ...] = (16, 32, 32)) -> NetworkFn:
    """The deep residual network of IMPALA (https://arxiv.org/abs/1802.01561), Glorot-uniform from Keras' generator."""

    numbers = itertools.count()

    def convolution(h: KerasTensor, depth: int) -> KerasTensor:
        return keras.layers.Conv2D(depth, 3, padding="same", name=f"layer{next(numbers)}")(h)

    def residual(h: KerasTensor, depth: int) -> KerasTensor:
        return h + convolution(keras.ops.relu(convolution(keras.ops.relu(h), depth)), depth)

    def torso(inputs: KerasTensor) -> KerasTensor:
        h = _pixels(inputs)
        for depth in depths:
            h = keras.layers.MaxPooling2D(3, strides=2, padding="same")(convolution(h, depth))
            h = residual(residual(h, depth), depth)
        h = keras.ops.relu(keras.layers.Flatten()(h))
        return keras.layers.Dense(256, activation="relu", name=f"layer{next(numbers)}")(h)

    return torso
