"""The policies' interface and shared code: unrolling over a segment, burn-in, bootstrapping, the total loss."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.maths import continuous, discrete
from acer_tf.maths.diagnostics import explained_variance
from acer_tf.maths.retrace import retrace
from acer_tf.segment import Segment, is_given

DrawSeed = Callable[[], tf.Tensor]
"""Draws a seed, [2] int32, for actions that a policy samples while it evaluates."""


class StatefulNetwork(Protocol):
    """A network with a state of `state_size` numbers, P, per environment; P is 0 for a feed-forward network."""

    state_size: int
    params: dict[str, keras.Variable]

    def __call__(self, obs: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> Any:
        """Evaluates the network on T steps of N environments.

        Args:
            obs: [N, T, *observation].
            masks: [N, T] bool, True where an episode ended before the step, so the state is reset to zero.
            state: [N, P] float32, before the first step.

        Returns:
            Outputs, among them the policy's statistics `f`, [N, T, ...] float32, state values `v`, [N, T] float32, and
            the `state` after the last step, [N, P] float32. Outputs for discrete actions have a method `masked`.
        """
        ...


class Evaluation(NamedTuple):
    """Policy and critic on the trained steps of a segment; T counts these, without the burn-in.

    Attributes:
        f: [N, T, A] float32, the policy's statistics: probabilities; for a Gaussian policy its means [N, T, D] or, if
            sigma is learned, means and log sigmas [N, T, 2D].
        q: the outputs on which the critic's loss depends: Q of every action, [N, T, A] float32; for continuous actions
            a `gaussian.Critic`.
        bootstrap_v: [N] float32, value of the state after the last step; a constant.
        samples: actions drawn for the update, a `gaussian.Samples`; None for discrete actions, which need none.
    """

    f: tf.Tensor
    q: Any
    bootstrap_v: tf.Tensor
    samples: Any


class Losses(NamedTuple):
    """The losses of a segment, each the mean over its N * T steps, [] float32, and their terms.

    Attributes:
        loss: loss_policy + q_coef * loss_q - ent_coef * entropy.
        loss_q: half the squared error of Q; for continuous actions, plus half that of V.
        entropy: the policy's entropy; a constant if sigma is fixed.
        loss_policy: loss_f + loss_bc.
        loss_f: the truncated importance-weighted term.
        loss_bc: the bias correction.
        explained_variance: share of the Retrace target's variance that Q explains.
        gain: the terms of the policy gradient, step by step: a `discrete.Gain` or a `continuous.Gain`.
        rho_i: [N, T] float32, importance ratio of the action taken.
        q_ret: [N, T] float32, Retrace targets.
        terms: further terms for the kind of actions: `categorical.Terms` or `gaussian.Terms`.
    """

    loss: tf.Tensor
    loss_q: tf.Tensor
    entropy: tf.Tensor
    loss_policy: tf.Tensor
    loss_f: tf.Tensor
    loss_bc: tf.Tensor
    explained_variance: tf.Tensor
    gain: Any
    rho_i: tf.Tensor
    q_ret: tf.Tensor
    terms: Any


class Policy(ABC):
    """A policy and its critic as the model trains them: acting, evaluating a segment, losses, divergence.

    Attributes:
        network: maps observations, masks and a state to outputs and the next state.
        params: its trainable variables by name, in baselines' order.
    """

    def __init__(self, network: StatefulNetwork) -> None:
        """Makes a policy from a built network."""
        self.network = network
        self.params = network.params

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the state before the first step, [N, P] zeros."""
        # Baselines' initial_state; resets within a segment go back to zero too.
        return np.zeros((nenvs, self.network.state_size), np.float32)

    def check_state(self, state: object, nenvs: int) -> None:
        """Checks the shape of a state.

        Raises:
            InputError: it is not a state for `nenvs` environments.
        """
        expected = (nenvs, self.network.state_size)
        if (shape := getattr(state, "shape", None)) != expected:
            raise InputError(
                f"the state has shape {shape}; expected {expected} (environments, numbers in the state), as "
                "the call before returned it."
            )

    def check_config(self, config: Config) -> None:
        """Checks that the settings suit the network.

        Raises:
            InputError: a setting concerns the state of a recurrent network, and this network has none.
        """
        # Both settings concern the state: a network that has one accepts any value.
        if self.network.state_size:
            return
        for name, value, default in (("replay_state", config.replay_state, "zero"), ("burn_in", config.burn_in, 0)):
            if value != default:
                raise InputError(
                    f"{name} is {value!r}, but the network has no state; choose a recurrent network such as lstm, or "
                    f"{name} {default!r}."
                )

    def trained_part(self, segment: Segment, config: Config) -> Segment:
        """Returns a segment without its burn-in steps; fields that `losses` does not read are left alone."""
        # Cut along time; the network has already read observations and masks.
        names = ["actions", "rewards", "mus", "dones"]
        if config.bootstrap_truncated:
            names.append("final_values")
        if is_given(segment.action_masks):
            names.append("action_masks")
        return segment._replace(**{name: getattr(segment, name)[:, config.burn_in :] for name in names})

    def values(self, obs: tf.Tensor, state: tf.Tensor, action_masks: tf.Tensor = ()) -> tf.Tensor:
        """Computes V, [N] float32, of observations [N, *observation] within an episode, given the state [N, P]."""
        # No mask: the state before belongs to the same episode.
        return self._outputs(obs, state, tf.zeros([obs.shape[0]], tf.bool), action_masks).v[:, 0]

    def explain(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, action_masks: tf.Tensor = ()
    ) -> tuple[tf.Tensor, ...]:
        """Returns f [N, ...], V [N] and, for discrete actions, Q [N, A] of observations; arguments as in `act`."""
        outputs = self._outputs(obs, state, mask, action_masks)
        return outputs.f[:, 0], outputs.v[:, 0]

    def greedy(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, action_masks: tf.Tensor = ()
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Picks the most probable action for each environment; arguments and shapes as in `act`.

        Returns:
            Actions [N, ...], the statistics f they come from, [N, ...] float32, and the state after the step.
        """
        # Nothing is drawn: the random stream does not advance.
        outputs = self._outputs(obs, state, mask, action_masks)
        f = outputs.f[:, 0]
        return self.mode(f), f, outputs.state

    def average_statistics(self, segment: Segment, averages: Sequence[tf.Variable], config: Config) -> tf.Tensor:
        """Computes the average policy's statistics, with the shape of f, from its own recurrent state.

        Args:
            segment: T steps of N environments.
            averages: the averaged parameters, in the order of `params`.
            config: `replay_state` and `burn_in`.
        """
        # The same network, with the averages in place of its variables: nothing is copied.
        with keras.StatelessScope(state_mapping=zip(self.params.values(), averages, strict=True)):
            steps, _ = self._unroll(segment, config)
            return steps.f

    @abstractmethod
    def act(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor, action_masks: tf.Tensor = ()
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Samples an action for each observation.

        Args:
            obs: [N, *observation].
            state: [N, P] float32, from the step before.
            mask: [N] bool, True where an episode just ended, so the state is reset to zero.
            seed: [2] int32, for the stateless sampler.
            action_masks: [N, A] bool, the possible actions; `()` if all are, as always for continuous actions.

        Returns:
            Actions, [N] int64 or [N, D] float32, not clipped; the statistics f from which they were drawn, [N, ...]
            float32; and the state after the step.
        """

    @abstractmethod
    def mode(self, f: tf.Tensor) -> tf.Tensor:
        """Returns the most probable actions, [N] int64 or [N, D] float32, under the statistics [N, ...]."""

    @abstractmethod
    def evaluate(self, segment: Segment, config: Config, draw_seed: DrawSeed) -> Evaluation:
        """Evaluates policy and critic on the steps of a segment after the burn-in.

        Args:
            segment: T steps of N environments.
            config: `replay_state` and `burn_in`.
            draw_seed: draws the seed for actions sampled for the update.
        """

    @abstractmethod
    def losses(self, evaluation: Evaluation, segment: Segment, config: Config) -> Losses:
        """Computes the losses as functions of `evaluation.f` and `evaluation.q`; everything else is a constant.

        Args:
            evaluation: of the same steps.
            segment: the steps after the burn-in, as `trained_part` returns them.
            config: hyper-parameters.
        """

    @abstractmethod
    def kl(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes KL(average ‖ current), [N, T], from the statistics of both."""

    @abstractmethod
    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, the gradient of KL(average ‖ current) with respect to f, in the shape of f."""

    def _outputs(self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, action_masks: tf.Tensor) -> Any:
        """Evaluates the network on one step, [N, 1, ...]; arguments as in `act`."""
        # T = 1: acting is a segment of one step.
        steps = tf.nest.map_structure(lambda part: part[:, tf.newaxis], obs)
        outputs = self.network(steps, mask[:, tf.newaxis], state)
        return outputs.masked(action_masks[:, tf.newaxis]) if is_given(action_masks) else outputs

    def _unroll(self, segment: Segment, config: Config) -> tuple[Any, tf.Tensor]:
        """Evaluates the network on a segment.

        The state starts as `config.replay_state` says (in baselines always at zero, acer/acer.py:260) and is reset
        where masks are True. No gradient flows into the burn-in or through the bootstrap step; neither needs a backward
        pass.

        Returns:
            The outputs of the steps after the burn-in, [N, T, ...], and V of the bootstrap step, [N].
        """
        # The burn-in provides a state, but no gradient, which would cost a backward pass through every step.
        network, obs, masks, first = self.network, segment.obs, segment.masks, config.burn_in
        is_stored = config.replay_state == "stored"
        state = segment.states if is_stored else tf.zeros([obs.shape[0], network.state_size])
        if first:
            state = tf.stop_gradient(network(obs[:, :first], masks[:, :first], state).state)
        # The trained steps; the bootstrap step, the last one, is evaluated separately.
        steps = network(obs[:, first:-1], masks[:, first:-1], state)
        last = network(obs[:, -1:], masks[:, -1:], tf.stop_gradient(steps.state))
        if is_given(segment.action_masks):  # without masks the graph is baselines' own
            possible: tf.Tensor = segment.action_masks
            steps, last = steps.masked(possible[:, first:-1]), last.masked(possible[:, -1:])
        return steps, tf.stop_gradient(last.v[:, 0])

    def _returns(
        self,
        evaluation: Evaluation,
        q_i: tf.Tensor,
        v: tf.Tensor,
        trace: tf.Tensor,
        segment: Segment,
        config: Config,
    ) -> tf.Tensor:
        """Computes the returns from Retrace's recursion with these traces, [N, T] float32; q_i, v, trace: [N, T]."""
        # T + 1 values: the last one is the bootstrap (equation 5).
        v_with_bootstrap = tf.concat([v, evaluation.bootstrap_v[:, tf.newaxis]], axis=1)
        # A time limit counts as an end, as in baselines: the recursion stops there.
        continues = 1.0 - tf.cast(segment.dones, tf.float32)
        rewards = segment.rewards
        if config.bootstrap_truncated:  # the value of what would have followed is added to the reward
            rewards = rewards + config.gamma * segment.final_values
        return retrace(rewards, continues, q_i, v_with_bootstrap, trace, config.gamma)

    def _total(
        self,
        gain: discrete.Gain | continuous.Gain,
        loss_q: tf.Tensor,
        entropy: tf.Tensor,
        rho_i: tf.Tensor,
        q_i: tf.Tensor,
        q_ret: tf.Tensor,
        terms: Any,
        config: Config,
    ) -> Losses:
        """Adds up the losses; since these are minimised, the policy's gain and entropy enter with a minus sign."""
        # Means over N · T steps (acer/acer.py:135, :142).
        loss_f = -tf.reduce_mean(gain.f)
        loss_bc = -tf.reduce_mean(gain.bc) if config.correction else tf.zeros([])
        # Baselines adds the entropy before the trust region, which therefore bounds it too (acer/acer.py:156).
        return Losses(
            loss=loss_f + loss_bc + config.q_coef * loss_q - config.ent_coef * entropy,
            loss_q=loss_q,
            entropy=entropy,
            loss_policy=loss_f + loss_bc,
            loss_f=loss_f,
            loss_bc=loss_bc,
            explained_variance=explained_variance(q_i, q_ret),
            gain=gain,
            rho_i=rho_i,
            q_ret=q_ret,
            terms=terms,
        )


def trace_or_lambda(trace: tf.Tensor, config: Config) -> tf.Tensor:
    """Returns Retrace's traces, [N, T] float32, or `q_lambda` in their place if it is set: Q(lambda)."""
    # Q(lambda) ignores the importance weights: its trace is a constant instead of min(1, ρ).
    return trace if config.q_lambda is None else tf.fill(trace.shape, float(config.q_lambda))
