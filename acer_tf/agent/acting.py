"""A trained policy at work: drawn or most probable actions, with a random stream of its own."""

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.policies.base import Policy
from acer_tf.segment import Action
from acer_tf.system.traced import Traced

PREDICTIONS = 1
"""Tells this stream from the one that training samples from; so predictions do not change what is learned."""


class Acting:
    """Acts for any number of environments; a function is traced once per number.

    Attributes:
        policy: what acts.
        stream: state of the random stream, to be saved and assigned.
    """

    def __init__(self, policy: Policy, seed: int) -> None:
        """Takes the policy and the agent's seed."""
        self.policy = policy
        self._random = tf.random.Generator.from_seed(_stream_seed(seed), alg="philox")
        self.stream: tf.Variable = self._random.state
        self._sample = Traced(self._sampled)
        self._best = Traced(self._most_probable)

    def reseed(self, seed: int) -> None:
        """Begins the random stream anew."""
        self._random.reset_from_seed(_stream_seed(seed))

    def act(
        self,
        obs: NDArray[np.generic],
        state: NDArray[np.float32],
        mask: NDArray[np.bool_],
        deterministic: bool,
    ) -> Action:
        """Acts once for each observation; arguments as of `Model.act`."""
        actions, f, new_state = (self._best if deterministic else self._sample)(obs, state, mask)
        return Action(actions.numpy(), f.numpy(), new_state.numpy())

    def _sampled(self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return self.policy.act(obs, state, mask, self._random.uniform_full_int([2], tf.int32))

    def _most_probable(
        self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return most_probable(self.policy, obs, state, mask)


def most_probable(
    policy: Policy, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the most probable actions [N, ...], the policy's statistics and its state after the step."""
    outputs = policy.network(obs[:, tf.newaxis], mask[:, tf.newaxis], state)
    f = policy.statistics(outputs)[:, 0]
    return policy.mode(f), f, outputs.state


def _stream_seed(seed: int) -> int:
    return int(np.random.SeedSequence([seed, PREDICTIONS]).generate_state(1)[0])
