"""The layers of baselines' networks: same initialisers, same order of parameters."""

import math

import keras
import numpy as np

from acer_tf.networks.initializers import Orthogonal

SQRT2 = math.sqrt(2)


def conv(
    name: str, filters: int, size: int, stride: int, rng: np.random.RandomState, scale: float = SQRT2
) -> keras.layers.Layer:
    """Makes a convolution without padding, orthogonal weights, zero biases, ReLU."""
    return keras.layers.Conv2D(
        filters, size, stride, activation="relu", kernel_initializer=Orthogonal(scale, rng), name=name
    )


def fc(
    name: str, units: int, rng: np.random.RandomState, scale: float = 1.0, activation: str | None = None
) -> keras.layers.Layer:
    """Makes a dense layer with orthogonal weights and zero biases."""
    return keras.layers.Dense(units, activation=activation, kernel_initializer=Orthogonal(scale, rng), name=name)


class LayerNorm(keras.layers.Layer):
    """Layer normalisation of TF1's contrib: shift before scale in the parameter order, epsilon 1e-12."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates beta and gamma, [units] float32."""
        self.beta = self.add_weight(name="beta", shape=input_shape[-1:], initializer="zeros")
        self.gamma = self.add_weight(name="gamma", shape=input_shape[-1:], initializer="ones")

    def call(self, inputs: keras.KerasTensor) -> keras.KerasTensor:
        """Normalises the last axis."""
        mean, variance = keras.ops.moments(inputs, axes=[-1], keepdims=True)
        return (inputs - mean) * keras.ops.rsqrt(variance + 1e-12) * self.gamma + self.beta
