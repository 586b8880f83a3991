"""What ACER asks of a policy, for continuous actions (https://arxiv.org/abs/1611.01224, section 5, algorithm 3)."""

import math
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import tensorflow as tf

from acer_tf.config import Config, Continuous
from acer_tf.maths import continuous
from acer_tf.maths.retrace import retrace
from acer_tf.networks.dueling import DuelingNetwork
from acer_tf.networks.registry import Network
from acer_tf.policies.base import DrawSeed, Policy
from acer_tf.segment import Segment


class Critic(NamedTuple):
    """What the critic's loss is a function of.

    Attributes:
        q_i: [N, T] float32, Q̃ of the action taken.
        v: [N, T] float32, state values.
    """

    q_i: tf.Tensor
    v: tf.Tensor


class GaussianEvaluation(NamedTuple):
    """What the networks say about the steps of a segment that are trained on; T is without the burn-in.

    Attributes:
        f: [N, T, D] float32, the policy's statistics: means; where sigma is learned [N, T, 2D]: means, then log sigmas.
        q: the critic.
        bootstrap_v: [N] float32, value of the state after the last step; a constant.
        u: [N, T, n, D] float32, actions drawn from the policy for Q̃; constants, as the next two.
        sampled: [N, T, D] float32, one more, a', for the bias correction.
        q_sampled: [N, T] float32, Q̃ of a'.
    """

    f: tf.Tensor
    q: Critic
    bootstrap_v: tf.Tensor
    u: tf.Tensor
    sampled: tf.Tensor
    q_sampled: tf.Tensor


class GaussianLosses(NamedTuple):
    """The losses of a segment, each the mean over its N * T steps, [] float32, and what they are made of.

    Attributes:
        loss: loss_policy + q_coef * loss_q - ent_coef * entropy.
        loss_q: half the squared error of Q̃, plus half that of V.
        entropy: the policy's; a constant where sigma is fixed.
        loss_policy: loss_f + loss_bc.
        loss_f: the truncated importance-weighted term.
        loss_bc: the bias correction.
        explained_variance: of the Retrace target by Q̃.
        gain: the terms of the policy gradient.
        rho_i: [N, T] float32, importance ratio of the action taken.
        rho_sampled: [N, T] float32, that of a'.
        q_ret: [N, T] float32, Retrace targets.
        q_opc: [N, T] float32, the returns of the policy gradient.
        v_target: [N, T] float32.
    """

    loss: tf.Tensor
    loss_q: tf.Tensor
    entropy: tf.Tensor
    loss_policy: tf.Tensor
    loss_f: tf.Tensor
    loss_bc: tf.Tensor
    explained_variance: tf.Tensor
    gain: continuous.Gain
    rho_i: tf.Tensor
    rho_sampled: tf.Tensor
    q_ret: tf.Tensor
    q_opc: tf.Tensor
    v_target: tf.Tensor


class GaussianPolicy(Policy):
    """A Gaussian policy of diagonal covariance and its stochastic dueling network.

    Actions are in units of half the range of the action space, from its middle, and may lie outside of it: only what
    the environment is given is clipped (`acer_tf.envs.wrappers.box_actions`).
    """

    network: DuelingNetwork

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Box,
        rng: np.random.RandomState,
        settings: Continuous,
        /,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network; see `DuelingNetwork` for the arguments and errors, `Continuous` for the settings."""
        self._settings = settings
        self._dimensions = int(np.prod(action_space.shape))
        learned_sigma = settings.sigma if settings.learn_sigma else None
        super().__init__(
            DuelingNetwork(network, observation_space, self._dimensions, rng, learned_sigma, **network_kwargs)
        )

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
            Actions [N, D] float32, not clipped, the statistics [N, D] or [N, 2D] float32 they were drawn from, and the
            state after the step.
        """
        outputs = self.network(obs[:, tf.newaxis], mask[:, tf.newaxis], state)
        return self._sample(outputs.f, 1, seed)[:, 0, 0], outputs.f[:, 0], outputs.state

    def evaluate(self, segment: Segment, config: Config, draw_seed: DrawSeed) -> GaussianEvaluation:
        """Evaluates policy and critic on the steps of a segment after the burn-in, K.

        Args:
            segment: T steps of N environments.
            config: says where the state starts and how long the burn-in is.
            draw_seed: gives the seed, [2] int32, of the actions u and a'.
        """
        n = self._settings.num_samples
        steps, last = self._unroll(segment, config)
        taken = self.trained_part(segment, config).actions
        samples = tf.stop_gradient(self._sample(steps.f, n + 1, draw_seed()))
        actions = tf.concat([taken[:, :, tf.newaxis], samples], axis=2)  # the action taken, u, a'
        advantages = self.network.advantages(steps.features, actions)
        q = tf.gather(advantages, [0, n + 1], axis=2)
        if self._settings.dueling:
            q = continuous.dueling_q(steps.v, q, advantages[:, :, 1 : n + 1])
        return GaussianEvaluation(
            f=steps.f,
            q=Critic(q_i=q[:, :, 0], v=steps.v),
            bootstrap_v=tf.stop_gradient(self.state_values(last)[:, 0]),
            u=samples[:, :, :n],
            sampled=samples[:, :, n],
            q_sampled=tf.stop_gradient(q[:, :, 1]),
        )

    def statistics(self, outputs: Any) -> tf.Tensor:
        """Picks the statistics f out of what the network gives."""
        return outputs.f

    def mode(self, f: tf.Tensor) -> tf.Tensor:
        """Picks the mean, [N, D] float32."""
        return self._split(f)[0]

    def state_values(self, outputs: Any) -> tf.Tensor:
        """Picks V out of what the network gives."""
        return outputs.v

    def losses(self, evaluation: GaussianEvaluation, segment: Segment, config: Config) -> GaussianLosses:
        """Computes the losses as functions of `f` and `q`: through nothing else does a gradient flow.

        Args:
            evaluation: what the networks said.
            segment: the steps it is about (see `trained_part`).
            config: hyper-parameters.
        """
        q_i, v = evaluation.q
        log_f, rho_i = self._log_density_and_ratio(segment.actions, evaluation.f, segment.mus)
        log_f_sampled, rho_sampled = self._log_density_and_ratio(evaluation.sampled, evaluation.f, segment.mus)

        rewards, continues = self.rewards(segment, config), 1.0 - tf.cast(segment.dones, tf.float32)
        v_with_bootstrap = tf.concat([v, evaluation.bootstrap_v[:, tf.newaxis]], axis=1)
        trace = continuous.trace(rho_i, self._dimensions)
        if config.q_lambda is not None:
            trace = tf.fill(rho_i.shape, config.q_lambda)
        q_ret = retrace(rewards, continues, q_i, v_with_bootstrap, trace, config.gamma)
        q_opc = q_ret
        if self._settings.use_q_opc:
            q_opc = retrace(rewards, continues, q_i, v_with_bootstrap, tf.ones_like(rho_i), config.gamma)
        # Only in the dueling network is V tied to Q: by itself it is drawn to the return, not along with Q's error.
        v_target = continuous.v_target(rho_i, q_ret, q_i if self._settings.dueling else v, v)

        gain = continuous.gain(log_f, log_f_sampled, evaluation.q_sampled, v, q_opc, rho_i, rho_sampled, config.c)
        loss_q = tf.reduce_mean(0.5 * tf.square(q_ret - q_i) + 0.5 * tf.square(v_target - v))
        entropy = tf.reduce_mean(continuous.entropy(self._split(evaluation.f)[1]))
        return GaussianLosses(
            **self._totals(gain, loss_q, entropy, q_i, q_ret, config),
            gain=gain,
            rho_i=rho_i,
            rho_sampled=rho_sampled,
            q_ret=q_ret,
            q_opc=q_opc,
            v_target=v_target,
        )

    def kl(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes KL(average ‖ current), [N, T], from statistics shaped as `f` of `GaussianEvaluation`."""
        return continuous.kl(*self._split(f_avg), *self._split(f))

    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, the gradient of KL(average ‖ current) with respect to the statistics `f`."""
        (mean_avg, log_sigma_avg), (mean, log_sigma) = self._split(f_avg), self._split(f)
        k = continuous.kl_gradient_mean(mean_avg, mean, log_sigma)
        if not self._settings.learn_sigma:
            return k
        k_log_sigma = continuous.kl_gradient_log_sigma(mean_avg, log_sigma_avg, mean, log_sigma)
        return tf.concat([k, k_log_sigma], axis=-1)

    def _split(self, f: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Statistics [..., D] or [..., 2D] give mean and log sigma, [..., D] each."""
        mean = f[..., : self._dimensions]
        if self._settings.learn_sigma:
            return mean, f[..., self._dimensions :]
        return mean, tf.fill(tf.shape(mean), math.log(self._settings.sigma))

    def _sample(self, f: tf.Tensor, n: int, seed: tf.Tensor) -> tf.Tensor:
        """Draws n actions, [N, T, n, D], from statistics [N, T, D] or [N, T, 2D]."""
        mean, log_sigma = self._split(f[:, :, tf.newaxis])
        noise = tf.random.stateless_normal([*f.shape[:2], n, self._dimensions], seed)
        return mean + tf.exp(log_sigma) * noise

    def _log_density_and_ratio(self, actions: tf.Tensor, f: tf.Tensor, mu: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        log_f = continuous.log_density(actions, *self._split(f))
        return log_f, continuous.importance_ratio(log_f, continuous.log_density(actions, *self._split(mu)))
