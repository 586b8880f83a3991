"""The network for discrete actions: a trunk, and heads for policy logits and Q."""

from typing import Any, NamedTuple

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.networks.layers import fc, on_rows
from acer_tf.networks.registry import Network
from acer_tf.networks.trunk import Trunk, named_parameters
from acer_tf.system.console import say


class Outputs(NamedTuple):
    """The network's outputs for N x T observations.

    Attributes:
        logits: [N, T, A] float32, the policy's logits.
        q: [N, T, A] float32, the critic's Q of every action.
        state: [N, P] float32, the state after the last step.
    """

    logits: tf.Tensor
    q: tf.Tensor
    state: tf.Tensor

    @property
    def f(self) -> tf.Tensor:
        """The policy's probabilities, [N, T, A] float32."""
        return tf.nn.softmax(self.logits)

    @property
    def v(self) -> tf.Tensor:
        """State values V = Σₐ f q, [N, T] float32."""
        return tf.reduce_sum(self.f * self.q, axis=-1)

    def masked(self, action_masks: tf.Tensor) -> "Outputs":
        """Returns the outputs with such low logits for impossible actions that these have probability 0, no gradient.

        Args:
            action_masks: [N, T, A] bool, True for possible actions.
        """
        return self._replace(logits=tf.where(action_masks, self.logits, self.logits.dtype.min))


class ActorCritic:
    """Maps observations to policy logits and Q.

    Attributes:
        trunk: torsos and recurrent cores, up to the heads.
        heads: the policy's head, if there is one, and the critic's.
        params: trainable variables by name, in baselines' order: policy's network, critic's network, heads.
        state_size: numbers in the state of one environment, P.
    """

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        nact: int,
        rng: np.random.RandomState,
        precision: str = Config.precision,
        needs_head: bool = False,
        /,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network. Its initial weights are drawn from `rng` in the order of `params`.

        If there are as many features as actions, there is no policy head: the features are the logits themselves, and a
        message says so. This is a quirk of baselines (`common/distributions.py`, `_matching_fc`), not of Stable
        Baselines' policies.

        Args:
            network: name of a network, or a network.
            observation_space: space of one observation.
            nact: number of actions, A.
            rng: generator of the initial weights.
            precision: precision of the trunk; heads compute in float32.
            needs_head: whether there is always a policy head.
            **network_kwargs: `value_network` and arguments of the named network.

        Raises:
            InputError: as for `Trunk`.
        """
        self.trunk = Trunk(network, observation_space, rng, precision, **network_kwargs)
        policy_width, critic_width = self.trunk.widths
        self.heads = []
        if needs_head or policy_width != nact or self.trunk.ends is not None:
            self.heads.append(_built(fc("pi_head", nact, rng, scale=0.01), policy_width))
        else:
            say(
                f"the network's {nact} features are the policy's logits, as in baselines, since there are as many "
                "actions; with any other width the policy has its own layer",
                is_error=True,
            )
        self.heads.append(_built(fc("q_head", nact, rng), critic_width))
        self.params = named_parameters(self.trunk, self.heads)
        self.state_size = self.trunk.state_size

    def __call__(self, obs: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> Outputs:
        """Computes logits and Q for T steps of N environments; arguments as for `Trunk`."""
        policy, critic, state = self.trunk(obs, masks, state)
        *policy_head, q_head = self.heads
        logits = on_rows(policy_head[0], policy) if policy_head else policy
        return Outputs(logits, on_rows(q_head, critic), state)


def _built(head: keras.layers.Layer, nfeatures: int) -> keras.layers.Layer:
    head(keras.Input((nfeatures,)))
    return head
