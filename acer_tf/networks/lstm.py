"""Baselines' recurrent networks (`common/models.py`, `a2c/utils.py`): a torso, and an LSTM as the recurrent core."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from acer_tf.networks.layers import ExpectedWeights, Orthogonal, flat, on_rows
from acer_tf.networks.registry import NetworkFn, Recurrent, register
from acer_tf.networks.torsos import impala_cnn, nature_cnn
from acer_tf.schema import Count

LAYER_NORM_EPSILON = 1e-5

StepFunction = Callable[[tf.Tensor], tf.Tensor]


class LSTM(ExpectedWeights):
    """An LSTM as in baselines: gates in the order i, f, o, u, one bias vector, nothing added to the forget gate's bias.

    The state is the concatenation of c and h, [N, 2 * units]. The features' contribution to the gates is computed for
    all steps in one product; the recurrence is unrolled.

    Attributes:
        units: size of c and of h.
        state_size: 2 * units, P.
    """

    def __init__(self, units: int, rng: np.random.RandomState, name: str = "lstm") -> None:
        """Creates the layer; its weights are drawn from `rng` when it is first called."""
        super().__init__(name=name)
        self.units = units
        self.state_size = 2 * units
        self._orthogonal = Orthogonal(1.0, rng)

    def build(self, features_shape: tuple[int, ...]) -> None:
        """Creates wx [F, 4 * units], wh [units, 4 * units] and b [4 * units], float32."""
        self.wx = self._matrix("wx", features_shape[-1])
        self.wh = self._matrix("wh", self.units)
        self.b = self._vector("b", 4 * self.units)

    def call(self, features: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Runs over T steps.

        Args:
            features: [N, T, F] float32.
            masks: [N, T] bool, True where the state is reset to zero before the step.
            state: [N, P] float32, before the first step.

        Returns:
            h of each step, [N, T, units] float32, and the state after the last, [N, P].
        """
        inputs = on_rows(lambda rows: self._from_features(tf.matmul(rows, self.wx)), features)
        keeps = 1.0 - tf.cast(masks, tf.float32)[..., tf.newaxis]
        c, h = tf.split(state, 2, axis=1)
        from_h, from_c = self._step_functions()
        outputs = []
        for x, keep in zip(tf.unstack(inputs, axis=1), tf.unstack(keeps, axis=1), strict=True):
            gates, u = tf.split(x + from_h(h * keep), [3 * self.units, self.units], axis=1)
            i, f, o = tf.split(tf.sigmoid(gates), 3, axis=1)
            c = f * (c * keep) + i * tf.tanh(u)
            h = o * tf.tanh(from_c(c))
            outputs.append(h)
        return tf.stack(outputs, axis=1), tf.concat([c, h], axis=1)

    def _from_features(self, rows: tf.Tensor) -> tf.Tensor:
        return rows + self.b

    def _step_functions(self) -> tuple[StepFunction, StepFunction]:
        """Returns functions for h's contribution to the gates and for c as it enters h; weights are read once."""
        wh = tf.convert_to_tensor(self.wh)
        return lambda h: tf.matmul(h, wh), lambda c: c

    def _matrix(self, name: str, rows: int) -> keras.Variable:
        return self.add_weight(name=name, shape=(rows, 4 * self.units), initializer=self._orthogonal)

    def _vector(self, name: str, length: int, initializer: str = "zeros") -> keras.Variable:
        return self.add_weight(name=name, shape=(length,), initializer=initializer)


class LayerNormLSTM(LSTM):
    """An LSTM with layer normalisation of both matrix products, and of c when h is computed from it."""

    def __init__(self, units: int, rng: np.random.RandomState) -> None:
        """Creates the layer; its weights are drawn from `rng` when it is first called."""
        super().__init__(units, rng, name="lnlstm")

    def build(self, features_shape: tuple[int, ...]) -> None:
        """Creates wx, wh; scales gx, gh and shifts bx, bh, b [4 * units]; gc, bc [units]; all float32."""
        self.wx = self._matrix("wx", features_shape[-1])
        self.gx, self.bx = self._vector("gx", 4 * self.units, "ones"), self._vector("bx", 4 * self.units)
        self.wh = self._matrix("wh", self.units)
        self.gh, self.bh = self._vector("gh", 4 * self.units, "ones"), self._vector("bh", 4 * self.units)
        self.b = self._vector("b", 4 * self.units)
        self.gc, self.bc = self._vector("gc", self.units, "ones"), self._vector("bc", self.units)

    def _from_features(self, rows: tf.Tensor) -> tf.Tensor:
        return _normalized(rows, self.gx, self.bx) + self.b

    def _step_functions(self) -> tuple[StepFunction, StepFunction]:
        wh, gh, bh, gc, bc = map(tf.convert_to_tensor, (self.wh, self.gh, self.bh, self.gc, self.bc))
        return lambda h: _normalized(tf.matmul(h, wh), gh, bh), lambda c: _normalized(c, gc, bc)


def _normalized(x: tf.Tensor, scale: tf.Tensor, shift: tf.Tensor) -> tf.Tensor:
    x -= tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    return x * tf.math.rsqrt(variance + LAYER_NORM_EPSILON) * scale + shift


def _with_lstm(torso: NetworkFn, rng: np.random.RandomState, nlstm: int, layer_norm: bool) -> Recurrent:
    core = LayerNormLSTM if layer_norm else LSTM
    return Recurrent(torso, lambda: core(nlstm, rng))


@register("lstm")
def lstm(rng: np.random.RandomState, nlstm: Count = 128, layer_norm: bool = False) -> Recurrent:
    """An LSTM on the flattened observations: [N, T, ...] to [N, T, nlstm]."""
    return _with_lstm(flat, rng, nlstm, layer_norm)


@register("lnlstm")
def lnlstm(rng: np.random.RandomState, nlstm: Count = 128) -> Recurrent:
    """`lstm` with layer normalisation; baselines documents this name, but has no such network."""
    return _with_lstm(flat, rng, nlstm, layer_norm=True)


@register("cnn_lstm", sees_pixels=True)
def cnn_lstm(rng: np.random.RandomState, nlstm: Count = 128, layer_norm: bool = False) -> Recurrent:
    """An LSTM on the network of the Nature DQN paper."""
    return _with_lstm(nature_cnn(rng), rng, nlstm, layer_norm)


@register("cnn_lnlstm", sees_pixels=True)
def cnn_lnlstm(rng: np.random.RandomState, nlstm: Count = 128) -> Recurrent:
    """`cnn_lstm` with layer normalisation."""
    return _with_lstm(nature_cnn(rng), rng, nlstm, layer_norm=True)


@register("impala_cnn_lstm", sees_pixels=True)
def impala_cnn_lstm(rng: np.random.RandomState) -> Recurrent:
    """An LSTM of 256 units on the network of IMPALA."""
    return _with_lstm(impala_cnn(rng), rng, nlstm=256, layer_norm=False)
