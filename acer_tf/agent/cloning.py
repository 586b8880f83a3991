"""Behaviour cloning: the policy learns to imitate an expert."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from acer_tf.agent.expert import expert_arrays
from acer_tf.agent.state import AgentState
from acer_tf.envs.wrappers.normalize import Moments
from acer_tf.errors import InputError, NotFiniteError
from acer_tf.schema import Count, Positive, validated
from acer_tf.storage.arrays import numeric_array
from acer_tf.system.console import say

BATCH = 64
"""Windows per batch."""
TRAIN_FRACTION = 0.7

Array = NDArray[Any]


class Windows(NamedTuple):
    """An expert's steps, in W windows of T consecutive steps.

    Attributes:
        obs: [W, T, *observation], in the networks' form.
        actions: [W, T] int64 or [W, T, D] float32, in the networks' form.
        masks: [W, T] bool, True at the first step of an episode.
    """

    obs: Array
    actions: Array
    masks: Array

    def rows(self, index: Array) -> "Windows":
        """Returns some of the windows."""
        return Windows(*(array[index] for array in self))


def pretrain(
    agent: AgentState,
    dataset: Any,
    n_epochs: int,
    learning_rate: float,
    adam_epsilon: float,
    val_interval: int | None,
) -> None:
    """Trains the policy of an agent; see `ACER.pretrain`."""
    n_epochs = validated("n_epochs", n_epochs, Count)
    learning_rate = validated("learning_rate", learning_rate, Positive)
    adam_epsilon = validated("adam_epsilon", adam_epsilon, Positive)
    if val_interval is None:
        val_interval = max(1, n_epochs // 10)
    val_interval = validated("val_interval", val_interval, Count)
    arrays = expert_arrays(dataset)
    normalization = _normalization(agent, arrays)
    windows = _windows(agent, arrays, normalization)
    agent.normalization.assign(normalization)
    rng = np.random.default_rng(agent.seed)
    order = rng.permutation(len(windows.obs))
    split = max(1, round(TRAIN_FRACTION * len(order)))
    train, validation = order[:split], order[split:]
    cloning = Cloning(agent, learning_rate, adam_epsilon)
    try:
        for epoch in range(1, n_epochs + 1):
            losses = [cloning.train(windows.rows(part)) for part in _batches(rng.permutation(train))]
            if agent.settings.verbose and epoch % val_interval == 0:
                held_out = [cloning.loss(windows.rows(part)) for part in _batches(validation)]
                text = f"{np.mean(held_out):.4f}" if held_out else "none"
                say(f"epoch {epoch}/{n_epochs}: loss {np.mean(losses):.4f}, validation {text}")
    finally:  # also after Ctrl-C: the average policy is never left behind
        for average, param in zip(agent.model.averages, agent.model.params, strict=True):
            average.assign(param)


class Cloning:
    """Adam on the policy's parameters; minimises cross-entropy or, for continuous actions, the mean's squared error."""

    def __init__(self, agent: AgentState, learning_rate: float, epsilon: float) -> None:
        self._policy = agent.model.policy
        self._is_box = isinstance(agent.spaces.action_space, Box)
        self._optimizer = keras.optimizers.Adam(learning_rate, epsilon=epsilon)
        self._optimizer.build(list(self._policy.params.values()))
        self._step = tf.function(self._train, autograph=False, reduce_retracing=True)
        self._value = tf.function(self._loss, autograph=False, reduce_retracing=True)

    def train(self, batch: Windows) -> float:
        """Makes one update with Adam; returns the loss before it.

        Raises:
            NotFiniteError: the loss is not finite; nothing has been updated.
        """
        loss = self.loss(batch)
        if not np.isfinite(loss):
            raise NotFiniteError("the loss of pretraining is not finite.", batch._asdict())
        self._step(*batch)
        return loss

    def loss(self, batch: Windows) -> float:
        """Returns the loss of a batch, without an update."""
        return float(self._value(*batch))

    def _loss(self, obs: tf.Tensor, actions: tf.Tensor, masks: tf.Tensor) -> tf.Tensor:
        state = tf.zeros([tf.shape(obs)[0], self._policy.network.state_size])
        f = self._policy.network(obs, masks, state).f
        if self._is_box:
            return tf.reduce_mean(tf.square(self._policy.mode(f) - actions))
        return -tf.reduce_mean(tf.math.log(tf.gather(f, actions, batch_dims=2) + 1e-8))

    def _train(self, obs: tf.Tensor, actions: tf.Tensor, masks: tf.Tensor) -> None:
        params = [variable.value for variable in self._policy.params.values()]
        with tf.GradientTape() as tape:
            loss = self._loss(obs, actions, masks)
        self._optimizer.apply(tape.gradient(loss, params, unconnected_gradients=tf.UnconnectedGradients.ZERO))


def _observations(agent: AgentState, arrays: Mapping[str, Any]) -> Any:
    given, is_choice = arrays["obs"], isinstance(agent.spaces.observation_space, Discrete)
    return np.reshape(given, -1) if is_choice else given  # Stable Baselines wrote discrete observations as a column


def _normalization(agent: AgentState, arrays: Mapping[str, Any]) -> dict[str, Array]:
    """Returns the normalization for cloning: the agent's, or if it has seen nothing yet, that of the data."""
    current = agent.normalization.arrays
    if not agent.spaces.is_normalized or current["obs_count"] > 0:
        return current
    moments = Moments(agent.spaces.flatten.space.shape)
    rows = agent.spaces.flatten(_observations(agent, arrays))
    moments.update(np.reshape(rows, (-1, *moments.mean.shape)).astype(np.float64))
    return {**current, "obs_mean": moments.mean, "obs_var": moments.var, "obs_count": np.array(moments.count)}


def _windows(agent: AgentState, arrays: Mapping[str, Any], normalization: Mapping[str, Array]) -> Windows:
    obs, _ = agent.spaces.encode_observations(_observations(agent, arrays), normalization)
    actions = agent.spaces.encode_actions(arrays["actions"])
    if len(obs) != len(actions):
        raise InputError(f"the dataset has {len(obs)} observations and {len(actions)} actions; expected equal numbers.")
    starts = numeric_array("episode_starts", arrays.get("episode_starts", np.zeros(len(obs)))).astype(np.bool_).ravel()
    if len(starts) != len(obs):
        raise InputError(
            f"the dataset has {len(obs)} observations and {len(starts)} episode_starts; expected equal numbers."
        )
    length = agent.model.config.nsteps if agent.model.policy.network.state_size else 1
    count = len(obs) // length
    if count == 0:
        raise InputError(f"the dataset has {len(obs)} steps; expected at least {length}.")
    if not np.isfinite(actions).all():
        raise InputError("the dataset holds an action that is not a finite number.")
    if isinstance(agent.spaces.action_space, Box):
        actions = np.clip(actions, -1, 1)  # the range that environments receive
    return Windows(
        *(array[: count * length].reshape(count, length, *array.shape[1:]) for array in (obs, actions, starts))
    )


def _batches(index: Array) -> Iterator[Array]:
    return (index[start : start + BATCH] for start in range(0, len(index), BATCH))
