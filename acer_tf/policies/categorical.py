"""What ACER asks of a policy, for discrete actions."""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from acer_tf.config import Config
from acer_tf.maths import discrete
from acer_tf.maths.retrace import retrace
from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.networks.registry import Network
from acer_tf.policies.base import DrawSeed, Policy
from acer_tf.segment import Segment


class Evaluation(NamedTuple):
    """What the networks say about the steps of a segment that are trained on.

    Attributes:
        f: [N, T - K, A] float32 with a burn-in of K steps, the policy's statistics: probabilities.
        q: [N, T - K, A] float32, the critic.
        bootstrap_v: [N] float32, value of the state after the last step; a constant.
    """

    f: tf.Tensor
    q: tf.Tensor
    bootstrap_v: tf.Tensor


class Losses(NamedTuple):
    """The losses of a segment, each the mean over its N * T steps, [] float32, and what they are made of.

    Attributes:
        loss: loss_policy + q_coef * loss_q - ent_coef * entropy.
        loss_q: half the squared error of Q.
        entropy: the policy's.
        loss_policy: loss_f + loss_bc.
        loss_f: the truncated importance-weighted term.
        loss_bc: the bias correction.
        explained_variance: of the Retrace target by Q.
        gain: the terms of the policy gradient.
        v: [N, T] float32, state values.
        rho: [N, T, A] float32, importance ratios.
        rho_i: [N, T] float32, that of the action taken.
        q_i: [N, T] float32.
        q_ret: [N, T] float32, Retrace targets.
    """

    loss: tf.Tensor
    loss_q: tf.Tensor
    entropy: tf.Tensor
    loss_policy: tf.Tensor
    loss_f: tf.Tensor
    loss_bc: tf.Tensor
    explained_variance: tf.Tensor
    gain: discrete.Gain
    v: tf.Tensor
    rho: tf.Tensor
    rho_i: tf.Tensor
    q_i: tf.Tensor
    q_ret: tf.Tensor


class CategoricalPolicy(Policy):
    """A categorical policy and its Q network."""

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Discrete,
        rng: np.random.RandomState,
        /,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network; see `ActorCritic` for the arguments and errors."""
        super().__init__(ActorCritic(network, observation_space, int(action_space.n), rng, **network_kwargs))

    def act(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Samples an action for each observation.

        Args:
            obs: [N, *observation].
            state: [N, P] float32, from the step before.
            mask: [N] bool, True where an episode just ended and the state starts anew.
            seed: [2] int32, for the stateless sampler.

        Returns:
            Actions [N] int64, the probabilities [N, A] float32 they were drawn from, and the state after the step.
        """
        logits, _, state = self.network(obs[:, tf.newaxis], mask[:, tf.newaxis], state)
        logits = logits[:, 0]
        actions = tfp.distributions.Categorical(logits=logits, dtype=tf.int64).sample(seed=seed)
        return actions, tf.nn.softmax(logits), state

    def evaluate(self, segment: Segment, config: Config, draw_seed: DrawSeed | None = None) -> Evaluation:
        """Evaluates policy and critic on the steps of a segment after the burn-in, K; samples nothing."""
        steps, last = self._unroll(segment, config)
        return Evaluation(self.statistics(steps), steps.q, tf.stop_gradient(self.state_values(last)[:, 0]))

    def statistics(self, outputs: Any) -> tf.Tensor:
        """Computes the statistics f, probabilities, from what the network gives."""
        return tf.nn.softmax(outputs.logits)

    def mode(self, f: tf.Tensor) -> tf.Tensor:
        """Picks the most probable action, [N] int64; of several the first."""
        return tf.argmax(f, axis=-1)

    def state_values(self, outputs: Any) -> tf.Tensor:
        """Computes V = Σₐ f q."""
        return tf.reduce_sum(self.statistics(outputs) * outputs.q, axis=-1)

    def losses(self, evaluation: Evaluation, segment: Segment, config: Config) -> Losses:
        """Computes the losses as functions of `f` and `q`: through nothing else does a gradient flow.

        Args:
            evaluation: what the networks said.
            segment: the steps it is about (see `trained_part`).
            config: hyper-parameters.
        """
        f, q, actions = evaluation.f, evaluation.q, segment.actions
        v = tf.reduce_sum(f * q, axis=-1)
        q_i = discrete.select(q, actions)
        rho = discrete.importance_ratio(f, segment.mus)
        rho_i = discrete.select(rho, actions)
        v_with_bootstrap = tf.concat([v, evaluation.bootstrap_v[:, tf.newaxis]], axis=1)
        continues = 1.0 - tf.cast(segment.dones, tf.float32)
        trace = rho_i if config.q_lambda is None else tf.fill(rho_i.shape, config.q_lambda)
        q_ret = retrace(self.rewards(segment, config), continues, q_i, v_with_bootstrap, trace, config.gamma)

        gain = discrete.gain(f, q, v, q_ret, rho, actions, config.c)
        loss_q = tf.reduce_mean(0.5 * tf.square(q_ret - q_i))
        entropy = tf.reduce_mean(discrete.entropy(f))
        return Losses(
            **self._totals(gain, loss_q, entropy, q_i, q_ret, config),
            gain=gain,
            v=v,
            rho=rho,
            rho_i=rho_i,
            q_i=q_i,
            q_ret=q_ret,
        )

    def kl(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes KL(average ‖ current), [N, T], from statistics [N, T, A] each."""
        return discrete.kl(f_avg, f)

    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, the gradient of KL(average ‖ current) with respect to the statistics `f`."""
        return discrete.kl_gradient(f_avg, f)
