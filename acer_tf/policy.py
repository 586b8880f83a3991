"""What ACER asks of a policy, for discrete actions and feed-forward networks."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from acer_tf.config import Config
from acer_tf.maths import discrete
from acer_tf.maths.diagnostics import explained_variance
from acer_tf.maths.retrace import retrace
from acer_tf.networks.actor_critic import actor_critic
from acer_tf.networks.registry import NetworkFn
from acer_tf.segment import Segment

DrawSeed = Callable[[], tf.Tensor]
"""Gives a seed, [2] int32, to a policy that samples while it evaluates."""


class Policy(Protocol):
    """What the model asks of a policy; `CategoricalPolicy` and `GaussianPolicy` say what each of it is.

    Attributes:
        params: trainable variables by name.
    """

    params: dict[str, keras.Variable]

    def initial_state(self, nenvs: int) -> None:
        """Returns the state before the first step."""
        ...

    def act(self, obs: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Samples actions; returns them and the statistics they were drawn from."""
        ...

    def evaluate(self, segment: Segment, draw_seed: DrawSeed) -> Any:
        """Returns at least the policy's statistics f, what the critic's loss is a function of, q, and bootstrap_v."""
        ...

    def average_statistics(self, segment: Segment, averages: list[tf.Variable]) -> tf.Tensor:
        """Computes the average policy's statistics, shaped as f."""
        ...

    def losses(self, evaluation: Any, segment: Segment, config: Config) -> Any:
        """Computes the losses as functions of f and q; returns at least the first seven fields of `Losses`."""
        ...

    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, shaped as f."""
        ...


class Evaluation(NamedTuple):
    """What the networks say about a segment.

    Attributes:
        f: [N, T, A] float32, the policy's statistics: probabilities.
        q: [N, T, A] float32, the critic.
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


class CategoricalPolicy:
    """A categorical policy and its Q network.

    Attributes:
        network: the Keras model: observations to policy logits and Q.
        params: its trainable variables by name, in baselines' order.
    """

    def __init__(
        self,
        network: str | NetworkFn,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Discrete,
        rng: np.random.RandomState,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network; see `actor_critic` for the arguments and errors."""
        self.network, self.params = actor_critic(network, observation_space, int(action_space.n), rng, **network_kwargs)

    def initial_state(self, nenvs: int) -> None:
        """Returns the state before the first step: none."""
        return None

    def act(self, obs: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Samples an action for each observation.

        Args:
            obs: [N, *observation].
            seed: [2] int32, for the stateless sampler.

        Returns:
            Actions [N] int64 and the probabilities [N, A] float32 they were drawn from.
        """
        logits, _ = self.network(obs)
        actions = tfp.distributions.Categorical(logits=logits, dtype=tf.int64).sample(seed=seed)
        return actions, tf.nn.softmax(logits)

    def evaluate(self, segment: Segment, draw_seed: DrawSeed | None = None) -> Evaluation:
        """Evaluates policy and critic on a segment; nothing is sampled.

        The bootstrap step is passed on its own: nothing flows back through it, so it costs no backward pass.
        """
        f, q = self._probabilities_and_q(segment.obs[:, :-1])
        last_f, last_q = self._probabilities_and_q(segment.obs[:, -1:])
        bootstrap_v = tf.reduce_sum(last_f * last_q, axis=-1)[:, 0]
        return Evaluation(f, q, tf.stop_gradient(bootstrap_v))

    def average_statistics(self, segment: Segment, averages: list[tf.Variable]) -> tf.Tensor:
        """Computes the average policy's statistics f_avg, [N, T, A] float32.

        Args:
            segment: T steps of N environments.
            averages: the averaged parameters, in the order of `params`.
        """
        with keras.StatelessScope(state_mapping=zip(self.params.values(), averages, strict=True)):
            f_avg, _ = self._probabilities_and_q(segment.obs[:, :-1])
        return f_avg

    def losses(self, evaluation: Evaluation, segment: Segment, config: Config) -> Losses:
        """Computes the losses as functions of `f` and `q`: through nothing else does a gradient flow."""
        f, q, actions = evaluation.f, evaluation.q, segment.actions
        v = tf.reduce_sum(f * q, axis=-1)
        q_i = discrete.select(q, actions)
        rho = discrete.importance_ratio(f, segment.mus)
        rho_i = discrete.select(rho, actions)
        v_with_bootstrap = tf.concat([v, evaluation.bootstrap_v[:, tf.newaxis]], axis=1)
        continues = 1.0 - tf.cast(segment.dones, tf.float32)
        trace = rho_i if config.q_lambda is None else tf.fill(rho_i.shape, config.q_lambda)
        q_ret = retrace(segment.rewards, continues, q_i, v_with_bootstrap, trace, config.gamma)

        gain = discrete.gain(f, q, v, q_ret, rho, actions, config.c)
        loss_f = -tf.reduce_mean(gain.f)
        loss_bc = -tf.reduce_mean(gain.bc) if config.correction else tf.zeros([])
        loss_q = tf.reduce_mean(0.5 * tf.square(q_ret - q_i))
        entropy = tf.reduce_mean(discrete.entropy(f))
        return Losses(
            loss=loss_f + loss_bc + config.q_coef * loss_q - config.ent_coef * entropy,
            loss_q=loss_q,
            entropy=entropy,
            loss_policy=loss_f + loss_bc,
            loss_f=loss_f,
            loss_bc=loss_bc,
            explained_variance=explained_variance(q_i, q_ret),
            gain=gain,
            v=v,
            rho=rho,
            rho_i=rho_i,
            q_i=q_i,
            q_ret=q_ret,
        )

    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, the gradient of KL(average ‖ current) with respect to the statistics `f`."""
        return discrete.kl_gradient(f_avg, f)

    def _probabilities_and_q(self, obs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        nenvs, nsteps = obs.shape[:2]
        logits, q = self.network(tf.reshape(obs, [nenvs * nsteps, *obs.shape[2:]]))
        return tf.reshape(tf.nn.softmax(logits), [nenvs, nsteps, -1]), tf.reshape(q, [nenvs, nsteps, -1])
