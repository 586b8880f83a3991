"""Acts with a policy, step by step."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.errors import NotFiniteError
from acer_tf.policies.base import Policy
from acer_tf.segment import Action
from acer_tf.system.traced import Traced


class Actor:
    """Samples a policy's actions, or takes its most probable actions, in any number of environments.

    A feed-forward policy has an empty state and ignores the mask. Neither is passed to TensorFlow: that would take a
    quarter of the time of a small network's call.

    Attributes:
        policy: the policy.
        generator: random stream for sampling.
    """

    def __init__(
        self, policy: Policy, generator: tf.random.Generator, params: Sequence[tf.Variable] | None = None
    ) -> None:
        """Prepares to act; functions are traced at their first call, once per number of environments.

        Args:
            policy: the policy.
            generator: random stream for sampling.
            params: parameters to act with, in the order of `policy.params`; None acts with the policy's own.
        """
        self.policy = policy
        self.generator = generator
        self._params = params
        # Traced separately: sampling draws from the stream, the others do not.
        self._sample = Traced(self._with_params(self._sampled), keeps_inputs=True)
        self._greedy = Traced(self._with_params(self._most_probable))
        self._values = Traced(self._with_params(policy.values))
        self._explain = Traced(self._with_params(policy.explain))

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the state before the first step, [N, P] float32; P is 0 for a feed-forward policy."""
        return self.policy.initial_state(nenvs)

    def act(
        self,
        obs: NDArray[Any],
        state: NDArray[np.float32],
        mask: NDArray[np.bool_],
        deterministic: bool = False,
        action_masks: NDArray[np.bool_] | tuple[()] = (),
    ) -> Action:
        """Chooses an action for each environment.

        Args:
            obs: [N, *observation], in the space's dtype.
            state: [N, P] float32, from the step before or from `initial_state`.
            mask: [N] bool, True where an episode just ended and the state is reset.
            deterministic: takes the most probable actions and draws nothing; otherwise actions are sampled.
            action_masks: [N, A] bool, the possible actions; `()` if all are.

        Raises:
            InputError: the state has another shape.
            NotFiniteError: the policy's output is NaN or infinite.
        """
        self.policy.check_state(state, len(obs))
        choose = self._greedy if deterministic else self._sample
        # A recurrent policy: the state goes in and comes out.
        if state.shape[1]:
            action = Action(*(tensor.numpy() for tensor in choose(obs, (state, mask), action_masks)))
        else:  # a feed-forward policy: its state is empty and stays empty
            actions, f = choose(obs, (), action_masks)
            action = Action(actions.numpy(), f.numpy(), state)
        if not np.isfinite(action.mus).all():  # from such probabilities TensorFlow draws an action that does not exist
            env = int(np.argwhere(~np.isfinite(action.mus))[0, 0])
            raise NotFiniteError(
                f"the policy's output for environment {env} is not finite: it has diverged, or so is its input.",
                {"mus": action.mus},
            )
        return action

    @contextlib.contextmanager
    def drawing_from(self, seed: int) -> Iterator[None]:
        """Draws from a stream with this seed while the block runs; the actor's own stream stays as it is."""
        # Evaluations in between must not affect the training stream.
        state = self.generator.state.numpy()
        self.generator.reset_from_seed(seed)
        try:
            yield
        finally:
            self.generator.state.assign(state)

    def values(
        self, obs: NDArray[Any], state: NDArray[np.float32], action_masks: NDArray[np.bool_] | tuple[()] = ()
    ) -> NDArray[np.float32]:
        """Returns V of observations within an episode, [N] float32; arguments as in `act`. Draws nothing."""
        values: NDArray[np.float32] = self._values(obs, state, action_masks).numpy()
        return values

    def explain(
        self,
        obs: NDArray[Any],
        state: NDArray[np.float32],
        mask: NDArray[np.bool_],
        action_masks: NDArray[np.bool_] | tuple[()] = (),
    ) -> list[NDArray[np.float32]]:
        """Returns f, V and, for discrete actions, Q of observations; arguments as in `act`. Draws nothing."""
        return [tensor.numpy() for tensor in self._explain(obs, state, mask, action_masks)]

    def assign(self, weights: Sequence[NDArray[Any] | tf.Variable]) -> None:
        """Assigns weights to the parameters it acts with, in the order of `policy.params`."""
        # In place: traced functions read these variables.
        for param, weight in zip(self._params or self.policy.params.values(), weights, strict=True):
            param.assign(weight)

    def _sampled(
        self, obs: tf.Tensor, state_and_mask: Sequence[tf.Tensor], action_masks: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        state, mask = state_and_mask or _empty(obs)
        # Each step draws one seed for a stateless sampler: the stream is the same for any kind of action.
        seed = self.generator.uniform_full_int([2], tf.int32)
        sample = self.policy.act(obs, state, mask, seed, action_masks)
        return sample if state_and_mask else sample[:2]

    def _most_probable(
        self, obs: tf.Tensor, state_and_mask: Sequence[tf.Tensor], action_masks: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        state, mask = state_and_mask or _empty(obs)
        best = self.policy.greedy(obs, state, mask, action_masks)
        return best if state_and_mask else best[:2]

    def _with_params(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that calls the given one while the network uses `params` instead of its own parameters."""
        if self._params is None:
            return function
        params = self._params

        def call(*tensors: tf.Tensor) -> Any:
            # Keras reads the given variables wherever the network refers to its own.
            with keras.StatelessScope(state_mapping=zip(self.policy.params.values(), params, strict=True)):
                return function(*tensors)

        return call


def _empty(obs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns a feed-forward policy's state [N, 0] and a mask [N] that it does not read."""
    return tf.zeros([obs.shape[0], 0]), tf.zeros([obs.shape[0]], tf.bool)
