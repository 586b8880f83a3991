"""The policy for continuous actions: Gaussian, with a dueling network (https://arxiv.org/abs/1611.01224, section 5)."""

import math
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import tensorflow as tf

from acer_tf.config import Config, Continuous
from acer_tf.maths import continuous
from acer_tf.networks.dueling import DuelingNetwork
from acer_tf.networks.registry import Network
from acer_tf.policies.base import DrawSeed, Evaluation, Losses, Policy, trace_or_lambda
from acer_tf.segment import Segment


class Critic(NamedTuple):
    """The critic's outputs, on which its loss depends.

    Attributes:
        q_i: [N, T] float32, Q̃ of the action taken.
        v: [N, T] float32, state values.
    """

    q_i: tf.Tensor
    v: tf.Tensor


class Samples(NamedTuple):
    """Actions drawn from the policy for one update; constants.

    Attributes:
        u: [N, T, n, D] float32, the actions whose mean advantage Q̃ subtracts.
        action: [N, T, D] float32, one more action, a', for the bias correction.
        q: [N, T] float32, Q̃ of a'.
    """

    u: tf.Tensor
    action: tf.Tensor
    q: tf.Tensor


class Terms(NamedTuple):
    """Terms of the losses that only continuous actions have.

    Attributes:
        rho_sampled: [N, T] float32, importance ratio of the sampled action a'.
        q_opc: [N, T] float32, the returns for the policy gradient.
        v_target: [N, T] float32, the target of V.
    """

    rho_sampled: tf.Tensor
    q_opc: tf.Tensor
    v_target: tf.Tensor


class GaussianPolicy(Policy):
    """A Gaussian policy with diagonal covariance and its stochastic dueling network.

    Actions are measured from the middle of the action space in units of half its range, and may lie outside it: they
    are clipped only on the way to the environment (`acer_tf.envs.wrappers.box_actions`).
    """

    network: DuelingNetwork

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Box,
        rng: np.random.RandomState,
        settings: Continuous,
        precision: str = Config.precision,
        /,
        **network_kwargs: Any,
    ) -> None:
        """Builds the network; arguments and errors are those of `DuelingNetwork`, settings those of `Continuous`."""
        self._settings = settings
        self._dimensions = int(np.prod(action_space.shape))
        # The paper fixes σ (section 6); if learned, it is a parameter like any other.
        learned_sigma = settings.sigma if settings.learn_sigma else None
        heads = self._dimensions, rng, learned_sigma, settings.dueling
        super().__init__(DuelingNetwork(network, observation_space, *heads, precision, **network_kwargs))

    def act(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor, action_masks: tf.Tensor = ()
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Samples actions [N, D] float32, not clipped, from statistics f [N, D] or [N, 2D]."""
        outputs = self._outputs(obs, state, mask, action_masks)
        # Not clipped: densities refer to the action drawn.
        return self._sample(outputs.f, 1, seed)[:, 0, 0], outputs.f[:, 0], outputs.state

    def mode(self, f: tf.Tensor) -> tf.Tensor:
        """Returns the mean, [N, D] float32."""
        return self._split(f)[0]

    def evaluate(self, segment: Segment, config: Config, draw_seed: DrawSeed) -> Evaluation:
        """Evaluates policy and critic on the steps of a segment after the burn-in, and samples u and a'."""
        n = self._settings.num_samples
        steps, bootstrap_v = self._unroll(segment, config)
        taken = self.trained_part(segment, config).actions
        # n samples for the mean advantage (equation 13), and one more, a', for the correction.
        samples = tf.stop_gradient(self._sample(steps.f, n + 1, draw_seed()))
        # A single call of the network for all of them: the action taken, u, a'.
        actions = tf.concat([taken[:, :, tf.newaxis], samples], axis=2)
        advantages = self.network.advantages(steps.features, actions)
        # Q̃ is needed only for the action taken and for a'.
        q = tf.gather(advantages, [0, n + 1], axis=2)
        if self._settings.dueling:
            q = continuous.dueling_q(steps.v, q, advantages[:, :, 1 : n + 1])
        return Evaluation(
            f=steps.f,
            q=Critic(q_i=q[:, :, 0], v=steps.v),
            bootstrap_v=bootstrap_v,
            samples=Samples(u=samples[:, :, :n], action=samples[:, :, n], q=tf.stop_gradient(q[:, :, 1])),
        )

    def losses(self, evaluation: Evaluation, segment: Segment, config: Config) -> Losses:
        """Computes the losses as functions of f, [N, T, D] or [N, T, 2D], and of the critic's Q̃ and V, [N, T]."""
        q_i, v = evaluation.q
        # Ratios of densities under f and μ, for the action taken and for a'.
        log_f, log_mu = self._log_densities(segment.actions, evaluation.f, segment.mus)
        rho_i = continuous.importance_ratio(log_f, log_mu)
        log_f_sampled, log_mu_sampled = self._log_densities(evaluation.samples.action, evaluation.f, segment.mus)
        rho_sampled = continuous.importance_ratio(log_f_sampled, log_mu_sampled)
        # Section 5.1: Retrace's traces are the D-th roots of the ratios.
        trace = trace_or_lambda(continuous.trace(log_f, log_mu, self._dimensions), config)
        q_ret = self._returns(evaluation, q_i, v, trace, segment, config)
        # Section 5.2: the policy gradient's return is Retrace with traces of 1.
        q_opc = q_ret
        if self._settings.use_q_opc:
            q_opc = self._returns(evaluation, q_i, v, tf.ones_like(rho_i), segment, config)
        # Equation 14. V is tied to Q only in the dueling network; a separate V moves towards the return itself, not by
        # Q's error.
        v_target = continuous.v_target(rho_i, q_ret, q_i if self._settings.dueling else v, v)
        # Algorithm 3: truncated importance sampling, corrected with the sampled action a'.
        gain = continuous.gain(log_f, log_f_sampled, evaluation.samples.q, v, q_opc, rho_i, rho_sampled, config.c)
        loss_q = tf.reduce_mean(0.5 * tf.square(q_ret - q_i) + 0.5 * tf.square(v_target - v))
        entropy = tf.reduce_mean(continuous.entropy(self._split(evaluation.f)[1]))
        terms = Terms(rho_sampled, q_opc, v_target)
        return self._total(gain, loss_q, entropy, rho_i, q_i, q_ret, terms, config)

    def kl(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes KL(average ‖ current), [N, T], from both statistics, [N, T, D] or [N, T, 2D] each."""
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
        """Splits statistics [..., D] or [..., 2D] into mean and log sigma, [..., D] each."""
        mean = f[..., : self._dimensions]
        if self._settings.learn_sigma:
            return mean, f[..., self._dimensions :]
        return mean, tf.fill(tf.shape(mean), math.log(self._settings.sigma))

    def _sample(self, f: tf.Tensor, n: int, seed: tf.Tensor) -> tf.Tensor:
        """Draws n actions, [N, T, n, D], from statistics [N, T, D] or [N, T, 2D]."""
        # u = mean + σ ε, with the same σ for all n.
        mean, log_sigma = self._split(f[:, :, tf.newaxis])
        noise = tf.random.stateless_normal([*f.shape[:2], n, self._dimensions], seed)
        return mean + tf.exp(log_sigma) * noise

    def _log_densities(self, actions: tf.Tensor, f: tf.Tensor, mu: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns log π(a) and log μ(a), [N, T] each, for actions [N, T, D]."""
        return continuous.log_density(actions, *self._split(f)), continuous.log_density(actions, *self._split(mu))
