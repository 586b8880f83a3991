"""Gaussian policy and stochastic dueling network: one or two torsos, three heads (the paper's section 5.1)."""

import math
from typing import Any, NamedTuple

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

from acer_tf.networks.actor_critic import _named_parameters, _torso, _value_network_fn
from acer_tf.networks.initializers import Orthogonal
from acer_tf.networks.layers import SQRT2, fc
from acer_tf.networks.registry import NetworkFn, network_fn

ADVANTAGE_UNITS = 64


class StochasticDueling(NamedTuple):
    """A network and its parameters.

    Attributes:
        network: maps observations [B, *shape] to the policy's statistics [B, D] or [B, 2D], V [B, 1] and the critic's
            features [B, F].
        advantage: maps features [B, F] and K actions each, [B, K, D], to A [B, K].
        params: trainable variables by name: policy torso, critic's torso, policy head, log sigma, V head, A head.
    """

    network: keras.Model
    advantage: keras.Model
    params: dict[str, keras.Variable]


class LogSigma(keras.layers.Layer):
    """Appends log sigma, the same for all observations, to the mean: [B, D] gives [B, 2D]."""

    def __init__(self, sigma: float, name: str) -> None:
        """Makes the layer; `sigma` is the standard deviation at the start."""
        super().__init__(name=name)
        self._sigma = sigma

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates log sigma, [D] float32."""
        start = keras.initializers.Constant(math.log(self._sigma))
        self.log_sigma = self.add_weight(name="log_sigma", shape=input_shape[-1:], initializer=start)

    def call(self, mean: tf.Tensor) -> tf.Tensor:
        """Appends it."""
        return keras.ops.concatenate([mean, keras.ops.broadcast_to(self.log_sigma, keras.ops.shape(mean))], axis=-1)


def stochastic_dueling(
    network: str | NetworkFn,
    observation_space: gym.spaces.Box,
    dimensions: int,
    rng: np.random.RandomState,
    learned_sigma: float | None = None,
    value_network: str | NetworkFn | None = None,
    **network_kwargs: Any,
) -> StochasticDueling:
    """Builds the network. Its initial weights are drawn from `rng` in the order of `params`; the first mean is near 0.

    Args:
        network: name or function of the torso.
        observation_space: space of one observation.
        dimensions: D, dimensions of an action.
        rng: the run's generator.
        learned_sigma: where sigma is learned, what it starts from; else the statistics are the mean alone.
        value_network: None or "shared": the critic uses the policy's torso; "copy": it has one of its own, built alike;
            or a function that builds it.
        **network_kwargs: arguments of the named network.

    Raises:
        InputError: a network or arguments that do not exist, or a named network that does not fit the observations.
    """
    make_torso = network_fn(network, rng, network_kwargs)
    inputs = keras.Input(observation_space.shape, dtype=str(observation_space.dtype))
    parts = [_torso("pi", make_torso, inputs)]
    latent = features = parts[-1](inputs)
    if value_network is not None and value_network != "shared":
        parts.append(_torso("vf", _value_network_fn(value_network, make_torso), inputs))
        features = parts[-1](inputs)

    parts.append(fc("pi_head", dimensions, rng, scale=0.01))
    statistics = parts[-1](latent)
    if learned_sigma is not None:
        parts.append(LogSigma(learned_sigma, name="pi_sigma"))
        statistics = parts[-1](statistics)
    parts.append(fc("v_head", 1, rng))
    v = parts[-1](features)
    parts.append(_advantage(features.shape[-1], dimensions, rng))
    return StochasticDueling(
        network=keras.Model(inputs, [statistics, v, features], name="gaussian_actor_critic"),
        advantage=parts[-1],
        params=_named_parameters(parts),
    )


def _advantage(nfeatures: int, dimensions: int, rng: np.random.RandomState) -> keras.Model:
    """A hidden layer on features and action joined; its product is split, to multiply each observation's part once."""
    features, actions = keras.Input((nfeatures,)), keras.Input((None, dimensions))
    of_features = fc("fc_features", ADVANTAGE_UNITS, rng, scale=SQRT2)(features)
    kernel = Orthogonal(SQRT2, rng)
    fc_actions = keras.layers.Dense(ADVANTAGE_UNITS, use_bias=False, kernel_initializer=kernel, name="fc_actions")
    hidden = keras.ops.tanh(of_features[:, None] + fc_actions(actions))
    return keras.Model([features, actions], fc("head", 1, rng)(hidden)[..., 0], name="a_head")
