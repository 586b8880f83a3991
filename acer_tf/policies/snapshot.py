"""The behaviour policy of the option `overlap`: the model as it was when a segment began."""

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.policies.sampler import Sampler
from acer_tf.segment import Action
from acer_tf.system.traced import Traced

if TYPE_CHECKING:
    from acer_tf.model import Model


class Snapshot:
    """Acts with copies of a model's parameters, which training in another thread leaves alone."""

    def __init__(self, model: "Model") -> None:
        """Copies the parameters; `take` must come before anything acts."""
        self._model = model
        self._copies = [tf.Variable(param) for param in model.params]
        self._random = tf.random.Generator.from_seed(0, alg="philox")
        self._sampler = Sampler(model.policy, lambda: self._random.uniform_full_int([2], tf.int32), self._scope)
        self._values = Traced(self._state_values)

    def take(self) -> None:
        """Copies the parameters anew, and begins a random stream from a seed drawn from the model's.

        Actions then follow from the model's state alone, however the two threads take turns.
        """
        for copy, param in zip(self._copies, self._model.params, strict=True):
            copy.assign(param)
        self._random.reset_from_seed(self._model.draw_seed())

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the state before the first step, as `Model.initial_state`."""
        return self._model.initial_state(nenvs)

    def act(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """Samples an action for each environment; arguments as of `Model.act`."""
        return self._sampler(obs, state, mask)

    def values(self, obs: NDArray[Any], state: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns V of observations within an episode, [N] float32, as `Model.values`."""
        values: NDArray[np.float32] = self._values(obs, state).numpy()
        return values

    def _state_values(self, obs: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
        with self._scope():
            return self._model.policy.values(obs, state)

    def _scope(self) -> Any:
        return keras.StatelessScope(state_mapping=zip(self._model.policy.params.values(), self._copies, strict=True))
