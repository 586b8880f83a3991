"""The policy for discrete actions: categorical, with a Q network (https://arxiv.org/abs/1611.01224, section 3)."""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.envs.wrappers.joint_actions import Joint
from acer_tf.maths import discrete
from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.networks.registry import Network
from acer_tf.policies.base import DrawSeed, Evaluation, Losses, Policy, trace_or_lambda
from acer_tf.segment import Segment, is_given


class Terms(NamedTuple):
    """Terms of the losses that only discrete actions have.

    Attributes:
        v: [N, T] float32, state values.
        rho: [N, T, A] float32, importance ratios of all actions.
        q_i: [N, T] float32, Q of the action taken.
    """

    v: tf.Tensor
    rho: tf.Tensor
    q_i: tf.Tensor


class CategoricalPolicy(Policy):
    """A categorical policy, whose statistics f are its probabilities, and a Q network."""

    network: ActorCritic

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Discrete,
        rng: np.random.RandomState,
        precision: str = Config.precision,
        /,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network; arguments and errors are those of `ActorCritic`."""
        nact = int(action_space.n)
        # Baselines' quirk of a missing head applies only to the kind of actions that it has.
        needs_head = isinstance(action_space, Joint)
        super().__init__(ActorCritic(network, observation_space, nact, rng, precision, needs_head, **network_kwargs))

    def act(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor, action_masks: tf.Tensor = ()
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Samples actions [N] int64 from probabilities f [N, A]."""
        outputs = self._outputs(obs, state, mask, action_masks)
        # The segment stores these probabilities as μ.
        logits = outputs.logits[:, 0]
        actions = tf.random.stateless_categorical(logits, 1, seed, tf.int64)
        return actions[:, 0], tf.nn.softmax(logits), outputs.state

    def explain(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, action_masks: tf.Tensor = ()
    ) -> tuple[tf.Tensor, ...]:
        """Returns f [N, A], V [N] and Q [N, A] of observations, float32; arguments as in `act`."""
        outputs = self._outputs(obs, state, mask, action_masks)
        return outputs.f[:, 0], outputs.v[:, 0], outputs.q[:, 0]

    def mode(self, f: tf.Tensor) -> tf.Tensor:
        """Returns the most probable action, [N] int64; the first of several, as numpy does."""
        return tf.argmax(f, axis=-1)

    def evaluate(self, segment: Segment, config: Config, draw_seed: DrawSeed | None = None) -> Evaluation:
        """Evaluates policy and critic on the steps of a segment after the burn-in; samples nothing."""
        # Discrete actions need no samples: the correction is an exact sum over all actions.
        steps, bootstrap_v = self._unroll(segment, config)
        return Evaluation(steps.f, steps.q, bootstrap_v, samples=None)

    def losses(self, evaluation: Evaluation, segment: Segment, config: Config) -> Losses:
        """Computes the losses as functions of f and q, both [N, T, A]."""
        f, q, actions = evaluation.f, evaluation.q, segment.actions
        if is_given(segment.action_masks):
            possible: tf.Tensor = segment.action_masks
            f = tf.where(possible[:, :-1], f, 0)  # stops gradients: the entropy's, for one, is not 0 where f is 0
        # V = Σₐ f q: baselines has no head for V (acer/acer.py:106).
        v = tf.reduce_sum(f * q, axis=-1)
        q_i = discrete.select(q, actions)
        # Equation 7: the weights of all actions, then that of the action taken.
        rho = discrete.importance_ratio(f, segment.mus)
        rho_i = discrete.select(rho, actions)
        # Equation 5: the critic's target.
        q_ret = self._returns(evaluation, q_i, v, trace_or_lambda(rho_i, config), segment, config)
        # Equation 9: truncated importance sampling with bias correction.
        gain = discrete.gain(f, q, v, q_ret, rho, actions, config.c)
        # Equation 6, halved; baselines' q_coef of 1/2 comes on top (acer/acer.py:149).
        loss_q = tf.reduce_mean(0.5 * tf.square(q_ret - q_i))
        entropy = tf.reduce_mean(discrete.entropy(f))
        return self._total(gain, loss_q, entropy, rho_i, q_i, q_ret, Terms(v, rho, q_i), config)

    def kl(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes KL(average ‖ current), [N, T], from both statistics, [N, T, A] each."""
        return discrete.kl(f_avg, f)

    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, the gradient of KL(average ‖ current) with respect to the statistics `f`."""
        return discrete.kl_gradient(f_avg, f)
