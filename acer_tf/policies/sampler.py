"""How a policy acts from step to step: traced, and with nothing going in or out that it does not have."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.policies.base import DrawSeed, Policy
from acer_tf.segment import Action
from acer_tf.system.traced import Traced


class Sampler:
    """Samples actions from a policy.

    A feed-forward policy's states are empty, and masks mean nothing to it: carried along they would make up a quarter
    of a small network's call.
    """

    def __init__(self, policy: Policy, draw_seed: DrawSeed, scope: Callable[[], AbstractContextManager[Any]]) -> None:
        """Takes the policy.

        Args:
            policy: what acts.
            draw_seed: gives the seed of each call.
            scope: gives the context in which the network is called, which says what parameters it has.
        """
        self._policy = policy
        self._draw_seed = draw_seed
        self._scope = scope
        self._has_state = policy.network.state_size > 0
        self._act = Traced(self._with_state if self._has_state else self._without_state)

    def __call__(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """Samples an action for each environment; arguments as of `Model.act`."""
        if self._has_state:
            actions, mus, new_state = self._act(obs, state, mask)
            return Action(actions.numpy(), mus.numpy(), new_state.numpy())
        actions, mus = self._act(obs)
        return Action(actions.numpy(), mus.numpy(), state)

    def _with_state(self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        with self._scope():
            return self._policy.act(obs, state, mask, self._draw_seed())

    def _without_state(self, obs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        nenvs = obs.shape[0]
        actions, mus, _ = self._with_state(obs, tf.zeros([nenvs, 0]), tf.zeros([nenvs], tf.bool))
        return actions, mus
