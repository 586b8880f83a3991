"""Torsos: baselines' feed-forward networks (`common/models.py`), layer for layer."""

import itertools
from collections.abc import Sequence

import keras
import numpy as np
from keras import KerasTensor

from acer_tf.networks import layers
from acer_tf.networks.layers import SQRT2, Conv2D, Dense, LayerNorm, conv, fc, flat, joined
from acer_tf.networks.names import Convolutions, LayerCount, Widths
from acer_tf.networks.registry import NetworkFn, Observations, register
from acer_tf.schema import Count

Convolution = tuple[int, int, int]
"""Filters, size of the kernel, stride."""
NATURE: tuple[Convolution, ...] = ((32, 8, 4), (64, 4, 2), (64, 3, 1))


def _pixels(inputs: KerasTensor) -> KerasTensor:
    """Divides [B, H, W, C] by 255, whatever its dtype, as baselines does."""
    return keras.ops.cast(inputs, "float32") / 255.0


@register("mlp")
def mlp(
    rng: np.random.RandomState,
    num_layers: LayerCount = 2,
    num_hidden: Count = 64,
    activation: str = "tanh",
    layer_norm: bool = False,
) -> NetworkFn:
    """A multilayer perceptron: [B, ...] to [B, num_hidden].

    Args:
        rng: generator of the initial weights.
        num_layers: number of dense layers; with 0, the features are the flattened observations.
        num_hidden: units per layer.
        activation: name of a Keras activation.
        layer_norm: whether each layer is normalised before its activation.
    """

    def torso(inputs: Observations) -> KerasTensor:
        h = flat(inputs)
        for i in range(num_layers):
            h = fc(f"mlp_fc{i}", num_hidden, rng, scale=SQRT2)(h)
            if layer_norm:
                h = LayerNorm(name=f"layer_norm{i}")(h)
            h = layers.activation(activation)(h)
        return h

    return torso


@register("cnn", sees_pixels=True)
def nature_cnn(rng: np.random.RandomState) -> NetworkFn:
    """The network of the Nature DQN paper: images [B, H, W, C] to [B, 512]."""
    return _convolutional(rng, NATURE, units=512)


@register("cnn_small", sees_pixels=True)
def cnn_small(rng: np.random.RandomState) -> NetworkFn:
    """Two small convolutions: images [B, H, W, C] to [B, 128]."""
    return _convolutional(rng, ((8, 8, 4), (16, 4, 2)), units=128)


@register("cnn_a3c", sees_pixels=True)
def cnn_a3c(rng: np.random.RandomState) -> NetworkFn:
    """The network of A3C (https://arxiv.org/abs/1602.01783): images [B, H, W, C] to [B, 256]."""
    return _convolutional(rng, ((16, 8, 4), (32, 4, 2)), units=256)


@register("cnn_minatar", sees_pixels=True)
def cnn_minatar(rng: np.random.RandomState) -> NetworkFn:
    """MinAtar's one convolution: images [B, H, W, C] to [B, 128]."""
    return _convolutional(rng, ((16, 3, 1),), units=128)


def _convolutional(rng: np.random.RandomState, convs: Sequence[Convolution], units: int) -> NetworkFn:
    """Convolutions c1, c2, ... without padding, then the dense layer fc1; orthogonal weights, ReLU after each."""

    def torso(inputs: Observations) -> KerasTensor:
        numbers = itertools.count(1)  # numbering continues with a second image

        def convolutions(h: KerasTensor) -> KerasTensor:
            for i, (filters, size, stride) in enumerate(convs):
                # The division of pixels by 255 is folded into the first kernel.
                h = conv(f"c{next(numbers)}", filters, size, stride, rng, input_scale=1.0 if i else 1 / 255)(h)
            return h

        return fc("fc1", units, rng, scale=SQRT2, activation="relu")(joined(convolutions, inputs))

    return torso


@register("conv_only", sees_pixels=True)
def conv_only(rng: np.random.RandomState, convs: Convolutions = NATURE) -> NetworkFn:
    """Convolutions alone: images [B, H, W, C] to [B, H' · W' · filters].

    Unlike `nature_cnn`, they are padded, and Keras draws their Glorot-uniform weights, as in baselines' `conv_only`.

    Args:
        rng: not used.
        convs: filters, size and stride of each convolution.
    """

    def torso(inputs: Observations) -> KerasTensor:
        numbers = itertools.count()

        def convolutions(image: KerasTensor) -> KerasTensor:
            h = _pixels(image)
            for filters, size, stride in convs:
                h = Conv2D(filters, size, stride, padding="same", activation="relu", name=f"conv{next(numbers)}")(h)
            return h

        return joined(convolutions, inputs)

    return torso


@register("impala_cnn", sees_pixels=True)
def impala_cnn(rng: np.random.RandomState, depths: Widths = (16, 32, 32)) -> NetworkFn:
    """The deep residual network of IMPALA (https://arxiv.org/abs/1802.01561): images [B, H, W, C] to [B, 256].

    Args:
        rng: not used; Keras draws the Glorot-uniform weights.
        depths: filters in each residual section.
    """

    def torso(inputs: Observations) -> KerasTensor:
        numbers = itertools.count()  # for each torso: baselines counts the critic's layers from 0 too

        def convolution(h: KerasTensor, depth: int) -> KerasTensor:
            return Conv2D(depth, 3, padding="same", name=f"layer{next(numbers)}")(h)

        def residual(h: KerasTensor, depth: int) -> KerasTensor:
            return h + convolution(keras.ops.relu(convolution(keras.ops.relu(h), depth)), depth)

        def sections(image: KerasTensor) -> KerasTensor:
            h = _pixels(image)
            for depth in depths:
                h = keras.layers.MaxPooling2D(3, strides=2, padding="same")(convolution(h, depth))
                h = residual(residual(h, depth), depth)
            return keras.ops.relu(h)

        features = joined(sections, inputs)  # first, so that the dense layer's number follows the convolutions'
        return Dense(256, activation="relu", name=f"layer{next(numbers)}")(features)

    return torso
