"""The network for continuous actions: a trunk, and heads for a Gaussian policy, V and A(x, a).

The stochastic dueling network of https://arxiv.org/abs/1611.01224, section 5.1.
"""

import math
from typing import Any, NamedTuple

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.networks.layers import SQRT2, ExpectedWeights, fc, on_rows
from acer_tf.networks.registry import Network
from acer_tf.networks.trunk import Trunk, named_parameters

ADVANTAGE_UNITS = 64


class DuelingOutputs(NamedTuple):
    """The network's outputs for N x T observations.

    Attributes:
        f: [N, T, D] float32, the policy's statistics: means between -1 and 1; with a learned sigma [N, T, 2D], means
            followed by log sigmas.
        v: [N, T] float32, state values.
        features: [N, T, F] float32, the critic's features, from which advantages are computed.
        state: [N, P] float32, the state after the last step.
    """

    f: tf.Tensor
    v: tf.Tensor
    features: tf.Tensor
    state: tf.Tensor


class LogSigma(ExpectedWeights):
    """Appends log sigma, the same for all observations, to means: [B, D] to [B, 2D]."""

    def __init__(self, sigma: float, name: str) -> None:
        """Creates the layer; `sigma` is the initial standard deviation."""
        super().__init__(name=name)
        self._sigma = sigma

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates log sigma, [D] float32."""
        start = keras.initializers.Constant(math.log(self._sigma))
        self.log_sigma = self.add_weight(name="log_sigma", shape=input_shape[-1:], initializer=start)

    def call(self, mean: tf.Tensor) -> tf.Tensor:
        """Appends log sigma to means [B, D]; returns [B, 2D]."""
        return keras.ops.concatenate([mean, keras.ops.broadcast_to(self.log_sigma, keras.ops.shape(mean))], axis=-1)


class DuelingNetwork:
    """Maps observations to a Gaussian policy's statistics and V, and features with actions to advantages.

    The advantage head has one hidden layer on the concatenation of features and action. Its matrix product is split so
    that the features of an observation are multiplied once rather than for each action.

    Attributes:
        trunk: torsos and recurrent cores, up to the heads.
        params: trainable variables by name: policy's network, critic's network, heads of policy, V and advantage.
        state_size: numbers in the state of one environment, P.
    """

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        dimensions: int,
        rng: np.random.RandomState,
        learned_sigma: float | None = None,
        dueling: bool = True,
        precision: str = Config.precision,
        /,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network. Its initial weights are drawn from `rng` in the order of `params`; means start near 0.

        Args:
            network: name of a network, or a network.
            observation_space: space of one observation.
            dimensions: dimensions of an action, D.
            rng: generator of the initial weights.
            learned_sigma: initial standard deviation if it is learned; with None, the statistics are only the means.
            dueling: whether advantages are taken relative to their mean; if not, they are Q and have a bias.
            precision: precision of the trunk; heads compute in float32.
            **network_kwargs: `value_network` and arguments of the named network.

        Raises:
            InputError: as for `Trunk`.
        """
        self.trunk = Trunk(network, observation_space, rng, precision, **network_kwargs)
        latents, features = (keras.Input((width,)) for width in self.trunk.widths)
        # tanh keeps means within the range of actions: outside it, clipping would leave no gradient to bring them back.
        self._policy = [fc("pi_head", dimensions, rng, scale=0.01, activation="tanh")]
        means = self._policy[0](latents)
        if learned_sigma is not None:
            self._policy.append(LogSigma(learned_sigma, name="pi_sigma"))
            self._policy[1](means)
        self._v = fc("v_head", 1, rng)
        self._v(features)

        self._of_features = fc("a_features", ADVANTAGE_UNITS, rng, scale=SQRT2)
        self._of_actions = fc("a_actions", ADVANTAGE_UNITS, rng, scale=SQRT2, use_bias=False)
        self._advantage = fc("a_head", 1, rng, use_bias=not dueling)  # a bias would cancel out in equation 13
        self._advantage(self._of_features(features) + self._of_actions(keras.Input((dimensions,))))

        heads = [*self._policy, self._v, self._of_features, self._of_actions, self._advantage]
        self.params = named_parameters(self.trunk, heads)
        self.state_size = self.trunk.state_size

    def __call__(self, obs: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> DuelingOutputs:
        """Computes statistics and V for T steps of N environments; arguments as for `Trunk`."""
        f, features, state = self.trunk(obs, masks, state)
        for layer in self._policy:
            f = on_rows(layer, f)
        return DuelingOutputs(f, tf.squeeze(on_rows(self._v, features), -1), features, state)

    def advantages(self, features: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
        """Computes A(x, a), [N, T, K], for K actions per observation, from features [N, T, F], actions [N, T, K, D]."""
        of_features = tf.expand_dims(on_rows(self._of_features, features), 2)
        hidden = tf.tanh(of_features + on_rows(self._of_actions, actions))
        return tf.squeeze(on_rows(self._advantage, hidden), -1)
