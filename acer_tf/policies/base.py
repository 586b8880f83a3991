"""What every policy does with a segment: where its state starts, the steps that only warm it up, the bootstrap step."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.maths.diagnostics import explained_variance
from acer_tf.segment import Segment

DrawSeed = Callable[[], tf.Tensor]
"""Gives a seed, [2] int32, to a policy that samples while it evaluates."""


class StatefulNetwork(Protocol):
    """A network that carries a state of `state_size` numbers per environment; of a feed-forward network it is empty."""

    state_size: int
    params: dict[str, keras.Variable]

    def __call__(self, obs: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> Any:
        """Passes T steps of N environments through the network.

        Args:
            obs: [N, T, *observation].
            masks: [N, T] bool, True where an episode ended before the step and the state starts anew.
            state: [N, P] float32, before the first step.

        Returns:
            A NamedTuple of tensors [N, T, ...]; its last field, `state`, is the state after the last step.
        """
        ...


class Policy(ABC):
    """What the model asks of a policy, and the part that is common to all policies.

    Attributes:
        network: maps observations, masks and a state to outputs and the next state.
        params: its trainable variables by name, in baselines' order.
    """

    def __init__(self, network: StatefulNetwork) -> None:
        """Takes the network."""
        self.network = network
        self.params = network.params

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the state before the first step, [N, P] zeros."""
        return np.zeros((nenvs, self.network.state_size), np.float32)

    def check_state(self, state: object, nenvs: int) -> None:
        """Raises: InputError: `state` is no state of `nenvs` environments."""
        expected = (nenvs, self.network.state_size)
        if (shape := getattr(state, "shape", None)) != expected:
            raise InputError(
                f"the state has shape {shape}; expected {expected} (environments, numbers in the state), as "
                "the call before returned it."
            )

    def check_config(self, config: Config) -> None:
        """Raises: InputError: a setting means states, and the network has none."""
        if self.network.state_size:
            return
        for name, value, default in (("replay_state", config.replay_state, "zero"), ("burn_in", config.burn_in, 0)):
            if value != default:
                raise InputError(
                    f"{name} is {value!r}, but the network has no state; choose a recurrent network such as lstm, or "
                    f"{name} {default!r}."
                )

    def trained_part(self, segment: Segment, config: Config) -> Segment:
        """Leaves out the steps of a segment that only warm the state up; of the fields, those that losses read."""
        names = ("obs", "actions", "rewards", "mus", "dones", "masks", "final_values")
        return segment._replace(**{name: getattr(segment, name)[:, config.burn_in :] for name in names})

    def rewards(self, segment: Segment, config: Config) -> tf.Tensor:
        """Returns the rewards that returns are built from, [N, T] float32.

        With `bootstrap_truncated` they are r + gamma · V(last state) where a time limit cut the episode short: for the
        returns the episode is over there, but what would have followed counts.
        """
        if not config.bootstrap_truncated:
            return segment.rewards
        return segment.rewards + config.gamma * segment.final_values

    def _totals(
        self, gain: Any, loss_q: tf.Tensor, entropy: tf.Tensor, q_i: tf.Tensor, q_ret: tf.Tensor, config: Config
    ) -> dict[str, tf.Tensor]:
        """Puts the loss together, [] float32, with its parts: the fields that every policy's losses begin with."""
        loss_f = -tf.reduce_mean(gain.f)
        loss_bc = -tf.reduce_mean(gain.bc) if config.correction else tf.zeros([])
        return {
            "loss": loss_f + loss_bc + config.q_coef * loss_q - config.ent_coef * entropy,
            "loss_q": loss_q,
            "entropy": entropy,
            "loss_policy": loss_f + loss_bc,
            "loss_f": loss_f,
            "loss_bc": loss_bc,
            "explained_variance": explained_variance(q_i, q_ret),
        }

    def values(self, obs: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
        """Computes V of observations [N, *observation] within an episode, [N] float32, from the state [N, P] before."""
        masks = tf.zeros([obs.shape[0], 1], tf.bool)
        return self.state_values(self.network(obs[:, tf.newaxis], masks, state))[:, 0]

    def greedy(self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Picks the most probable action of each environment; arguments and shapes as of `act`.

        Returns:
            Actions [N, ...], the statistics f they follow from, [N, ...] float32, and the state after the step.
        """
        outputs = self.network(obs[:, tf.newaxis], mask[:, tf.newaxis], state)
        f = self.statistics(outputs)[:, 0]
        return self.mode(f), f, outputs.state

    def average_statistics(self, segment: Segment, averages: Sequence[tf.Variable], config: Config) -> tf.Tensor:
        """Computes the average policy's statistics, shaped as f, with a state of its own.

        Args:
            segment: T steps of N environments.
            averages: the averaged parameters, in the order of `params`.
            config: says where the state starts and how long the burn-in is.
        """
        with keras.StatelessScope(state_mapping=zip(self.params.values(), averages, strict=True)):
            steps, _ = self._unroll(segment, config)
        return self.statistics(steps)

    def _unroll(self, segment: Segment, config: Config) -> tuple[Any, Any]:
        """Passes a segment through the network.

        The state starts as `config.replay_state` says and is reset where masks are True. Nothing flows back into the
        steps of the burn-in, nor through the bootstrap step, which so costs no backward pass.

        Returns:
            The network's outputs of the steps after the burn-in, and of the bootstrap step, [N, 1, ...].
        """
        obs, masks, first = segment.obs, segment.masks, config.burn_in
        state = tf.zeros_like(segment.states) if config.replay_state == "zero" else segment.states
        if first:
            state = tf.stop_gradient(self.network(obs[:, :first], masks[:, :first], state).state)
        steps = self.network(obs[:, first:-1], masks[:, first:-1], state)
        last = self.network(obs[:, -1:], masks[:, -1:], tf.stop_gradient(steps.state))
        return steps, last

    @abstractmethod
    def act(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Samples actions; returns them, the statistics they were drawn from, and the state after the step."""

    @abstractmethod
    def evaluate(self, segment: Segment, config: Config, draw_seed: DrawSeed) -> Any:
        """Returns at least the statistics f, what the critic's loss is a function of, q, and bootstrap_v."""

    @abstractmethod
    def statistics(self, outputs: Any) -> tf.Tensor:
        """Returns the statistics f that the network's outputs stand for."""

    @abstractmethod
    def mode(self, f: tf.Tensor) -> tf.Tensor:
        """Returns the most probable actions, [N] int64 or [N, D] float32, of the statistics [N, ...]."""

    @abstractmethod
    def state_values(self, outputs: Any) -> tf.Tensor:
        """Returns V, [N, T] float32, of the states that the network's outputs are about."""

    @abstractmethod
    def losses(self, evaluation: Any, segment: Segment, config: Config) -> Any:
        """Computes the losses as functions of f and q; returns at least the fields that `Losses` begins with."""

    @abstractmethod
    def kl(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes KL(average ‖ current), [N, T], from the statistics of both."""

    @abstractmethod
    def kl_gradient(self, f_avg: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
        """Computes k, the gradient of KL(average ‖ current) with respect to f, shaped as f."""
