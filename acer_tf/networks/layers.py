"""Layers of baselines' networks, with its parameter order and its orthogonal weights from numpy's generator."""

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.networks.names import ACTIVATIONS
from acer_tf.networks.registry import Observations
from acer_tf.suggestions import suggestion
from acer_tf.system.console import in_bytes
from acer_tf.system.container import free_memory

SQRT2 = math.sqrt(2)
FEW_CHANNELS = 16
DRAWN_ARRAYS = 2
"""Float64 arrays of a weight's shape that exist at once while it is drawn."""


def orthogonal(shape: tuple[int, ...], scale: float, rng: np.random.RandomState) -> NDArray[np.float32]:
    """Draws a weight array that is orthogonal once all axes but the last are flattened (baselines, `a2c/utils.py`).

    Args:
        shape: shape of the weight, output axis last.
        scale: gain.
        rng: numpy's generator, from which one normal array of the flattened shape is drawn.

    Returns:
        [*shape] float32.

    Raises:
        InputError: the computation does not fit into memory.
    """
    needed, free = DRAWN_ARRAYS * 8 * math.prod(shape), free_memory()
    if needed > free:
        raise InputError(
            f"to draw a weight of shape {shape} would take {in_bytes(needed)}, but {in_bytes(free)} are free; expected "
            "a smaller network"
        )
    flat_shape = (int(np.prod(shape[:-1])), shape[-1])
    u, _, v = np.linalg.svd(rng.normal(0.0, 1.0, flat_shape), full_matrices=False)
    q = u if u.shape == flat_shape else v
    return (scale * q.reshape(shape)).astype(np.float32)


class Orthogonal(keras.initializers.Initializer):
    """`orthogonal` for Keras layers; weights are drawn in the order in which the layers are built."""

    def __init__(self, scale: float, rng: np.random.RandomState) -> None:
        """Creates the initialiser; `scale` is the gain, `rng` numpy's generator."""
        self.scale = scale
        self.rng = rng

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None) -> tf.Tensor:
        """Draws a weight of this shape, float32 whatever `dtype` is."""
        return tf.constant(orthogonal(tuple(shape), self.scale, self.rng))


Activation = str | Callable[[keras.KerasTensor], keras.KerasTensor]
Shape = tuple[int | None, ...]

_expected: ContextVar[Counter[Shape] | None] = ContextVar("expected shapes of weights", default=None)


class UnexpectedWeightError(Exception):
    """A network has other weights than the file for which it is built."""


@contextlib.contextmanager
def expecting(shapes: Iterable[Shape]) -> Iterator[None]:
    """Lets this package's layers create only weights of these shapes, each as often as it is listed.

    Files determine how large a network is; this way it takes no more memory than the weights in the file.
    """
    token = _expected.set(Counter(shapes))
    try:
        yield
    finally:
        _expected.reset(token)


class ExpectedWeights(keras.layers.Layer):
    """Base class of layers that obey `expecting`."""

    def add_weight(self, *args: Any, shape: Shape, **kwargs: Any) -> keras.Variable:
        """Creates a weight.

        Raises:
            UnexpectedWeightError: no weight of this shape is expected, or no more.
        """
        if (left := _expected.get()) is not None:
            if not left[tuple(shape)]:
                raise UnexpectedWeightError(f"it has too few weights of shape {tuple(shape)}")
            left[tuple(shape)] -= 1
        return super().add_weight(*args, shape=shape, **kwargs)


def activation(given: Activation) -> keras.layers.Layer:
    """Creates the layer of an activation, given by a name in `ACTIVATIONS` or as a function.

    Keras would take anything else, such as a dict, as the description of an object to make.

    Raises:
        InputError: it is neither.
    """
    if not callable(given) and given not in ACTIVATIONS:
        name = str(given)[:80]
        choices = suggestion(name, ACTIVATIONS, otherwise="see keras.activations")
        raise InputError(f"the activation {name!r} does not exist{choices}.")
    return keras.layers.Activation(given)


def add_bias(x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Adds a bias to the last axis of [B, ..., F]; in float32 exactly as Keras does.

    Keras calls TensorFlow's `bias_add`, whose gradient on the CPU is summed in the precision of its terms: a bfloat16
    sum stops growing after a few hundred terms. The gradient of a plain addition is summed in float32.
    """
    return x + bias if x.dtype == tf.bfloat16 else keras.ops.add(x, bias)


class Dense(keras.layers.Dense, ExpectedWeights):
    """Keras' dense layer, [..., F] to [..., units], with `add_bias`."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Computes activation(inputs · kernel + bias)."""
        outputs = keras.ops.matmul(inputs, self.kernel)
        return self.activation(outputs if self.bias is None else add_bias(outputs, self.bias))


class Conv2D(keras.layers.Conv2D, ExpectedWeights):
    """Keras' convolution, [B, H, W, C] to [B, H', W', filters], with `add_bias`."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Computes activation(inputs * kernel + bias)."""
        return self.activation(add_bias(self.convolution_op(inputs, self.kernel), self.bias))


class Conv(Conv2D):
    """A convolution without padding, followed by ReLU, fast on a CPU: [B, H, W, C] to [B, H', W', filters].

    If there are few channels and the stride divides the kernel and the input, blocks of stride² pixels are merged into
    one pixel with stride² times as many channels, and the same products are summed with stride 1: two to three times as
    fast. The input's scale is applied to the kernel instead, so that bytes are rearranged before they become floats.
    """

    def __init__(self, filters: int, size: int, stride: int, input_scale: float = 1.0, **kwargs: Any) -> None:
        """Creates the layer; `input_scale` multiplies the input."""
        super().__init__(filters, size, stride, **kwargs)
        self.input_scale = input_scale

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Convolves images [B, H, W, C] of any dtype."""
        kernel, (stride, _) = self.kernel * self.input_scale, self.strides
        size = self.kernel_size[0]
        if stride > 1 and inputs.shape[-1] < FEW_CHANNELS and not any(n % stride for n in (size, *inputs.shape[1:3])):
            inputs, kernel = _merge_pixels(inputs, stride), _merge_pixels(kernel[tf.newaxis], stride)[0]
            stride = 1
        outputs = tf.nn.conv2d(tf.cast(inputs, self.compute_dtype), kernel, stride, "VALID")
        return tf.nn.relu(add_bias(outputs, self.bias))


def _merge_pixels(x: tf.Tensor, n: int) -> tf.Tensor:
    """Merges blocks of n x n pixels into one: [B, n·H, n·W, C, ...] to [B, H, W, n·n·C, ...]."""
    _, height, width, *rest = x.shape
    blocks = tf.reshape(x, [-1, height // n, n, width // n, n * rest[0], *rest[1:]])
    blocks = tf.transpose(blocks, [0, 1, 3, 2, *range(4, 4 + len(rest))])
    return tf.reshape(blocks, [-1, height // n, width // n, n * n * rest[0], *rest[1:]])


def conv(
    name: str, filters: int, size: int, stride: int, rng: np.random.RandomState, input_scale: float = 1.0
) -> keras.layers.Layer:
    """Creates a convolution without padding: orthogonal weights of gain √2, zero biases, ReLU."""
    return Conv(filters, size, stride, input_scale, kernel_initializer=Orthogonal(SQRT2, rng), name=name)


def fc(
    name: str,
    units: int,
    rng: np.random.RandomState,
    scale: float = 1.0,
    activation: str | None = None,
    use_bias: bool = True,
) -> keras.layers.Layer:
    """Creates a dense layer, [B, F] to [B, units], with orthogonal weights of gain `scale` and zero biases."""
    kernel = Orthogonal(scale, rng)
    return Dense(units, activation, use_bias=use_bias, kernel_initializer=kernel, name=name)


def on_rows(layer: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """Applies a layer that maps [B, F] to [B, units] to [N, ..., F] in one product; returns [N, ..., units]."""
    rows = layer(tf.reshape(x, [-1, x.shape[-1]]))
    return tf.reshape(rows, [-1, *x.shape[1:-1], rows.shape[-1]])


def flat(inputs: Observations) -> keras.KerasTensor:
    """Flattens observations [B, ...] of any dtype, or all their parts, to [B, F] float32."""
    parts = inputs.values() if isinstance(inputs, dict) else [inputs]
    vectors = [keras.layers.Flatten(dtype="float32")(keras.ops.cast(part, "float32")) for part in parts]
    return vectors[0] if len(vectors) == 1 else keras.layers.Concatenate(dtype="float32")(vectors)


def joined(convolutions: Callable[[keras.KerasTensor], keras.KerasTensor], inputs: Observations) -> keras.KerasTensor:
    """Flattens the output of convolutions on an image or, given several parts, on each image, and appends vectors.

    Args:
        convolutions: called once for each image, so that each has its own weights.
        inputs: images [B, H, W, C], or parts of observations by name.
    """
    if not isinstance(inputs, dict):
        return keras.layers.Flatten()(convolutions(inputs))
    maps = [convolutions(part) if len(part.shape) == 4 else part for part in inputs.values()]
    features = [keras.layers.Flatten()(part) for part in maps]
    return features[0] if len(features) == 1 else keras.layers.Concatenate()(features)


class LayerNorm(ExpectedWeights):
    """Layer normalisation as in TF1's contrib: epsilon is 1e-12, and the shift is the first of its two parameters.

    It computes in float32 whatever the precision of the layers around it, since it subtracts nearly equal numbers.
    """

    def __init__(self, **kwargs: Any) -> None:
        """Creates the layer; arguments are Keras'."""
        super().__init__(dtype="float32", **kwargs)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates beta and gamma, [units] float32."""
        self.beta = self.add_weight(name="beta", shape=input_shape[-1:], initializer="zeros")
        self.gamma = self.add_weight(name="gamma", shape=input_shape[-1:], initializer="ones")

    def call(self, inputs: keras.KerasTensor) -> keras.KerasTensor:
        """Normalises over the last axis."""
        mean, variance = keras.ops.moments(inputs, axes=[-1], keepdims=True)
        return (inputs - mean) * keras.ops.rsqrt(variance + 1e-12) * self.gamma + self.beta
