"""The deterministic policy as a SavedModel."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import tensorflow as tf
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray

from acer_tf.agent.spaces import Spaces
from acer_tf.agent.state import AgentState
from acer_tf.envs.wrappers.flatten import parts_of
from acer_tf.envs.wrappers.joint_actions import Choices, number_of_actions, to_choices
from acer_tf.envs.wrappers.normalize import CLIP, EPS
from acer_tf.errors import InputError

Arrays = Mapping[str, NDArray[Any]]


def export(path: str | Path, agent: AgentState) -> None:
    """Writes the folder of a SavedModel; see `ACER.export`."""
    policy, spaces, normalization = agent.model.policy, agent.spaces, agent.normalization.arrays
    if Path(path).is_file():
        raise InputError(f"{path} is a file; expected a folder, which a SavedModel is.")
    parts = _parts(spaces)
    specs = {name: tf.TensorSpec([None, *(part.shape or ())], part.dtype) for name, part in parts}
    if len(specs) < len(parts):
        raise InputError("two parts of the observation would have one name in the SavedModel; rename one.")
    size = policy.network.state_size
    if size:
        specs |= {"state": tf.TensorSpec([None, size], tf.float32), "mask": tf.TensorSpec([None], tf.bool)}

    @tf.function(autograph=False)
    def act(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        obs = _network_input(inputs, spaces, normalization)
        count = tf.shape(obs)[0]
        state, mask = inputs.get("state", tf.zeros([count, 0])), inputs.get("mask", tf.zeros([count], tf.bool))
        actions, _, state = policy.greedy(obs, state, mask)
        return {"action": _users_actions(actions, spaces.action_space)} | ({"state": state} if size else {})

    module = tf.Module()
    module.parameters = [variable.value for variable in policy.params.values()]
    signature = act.get_concrete_function(**specs)
    try:
        tf.saved_model.save(module, str(path), signatures={"serving_default": signature})
    except (OSError, tf.errors.OpError) as error:
        raise InputError(f"{path} cannot be written ({error}).") from error


def _parts(spaces: Spaces) -> list[tuple[str, gymnasium.Space[Any]]]:
    """Returns the name of each input, and its space."""
    return [
        ("_".join(["obs", *(re.sub(r"\W", "_", str(key)) for key in path)]), part)
        for path, part in parts_of(spaces.observation_space)
    ]


def _network_input(inputs: Mapping[str, tf.Tensor], spaces: Spaces, normalization: Arrays) -> tf.Tensor:
    """Flattens and normalises as `Spaces.encode_observations`, but in float32, which converters of models know."""
    space = spaces.flatten.space
    vectors = [tf.cast(_vector(inputs[name], part), space.dtype) for name, part in _parts(spaces)]
    rows = tf.reshape(tf.concat(vectors, axis=1), [-1, *space.shape])
    if not spaces.is_normalized:
        return rows
    mean, scale = normalization["obs_mean"], np.sqrt(normalization["obs_var"] + EPS)
    units = (tf.cast(rows, tf.float32) - mean.astype(np.float32)) / scale.astype(np.float32)
    return tf.clip_by_value(units, -CLIP, CLIP)


def _vector(observations: tf.Tensor, space: gymnasium.Space[Any]) -> tf.Tensor:
    """[N, ...] gives [N, F]: one-hot for choices."""
    rows = tf.reshape(observations, [-1, math.prod(space.shape or ())])
    if not isinstance(space, Discrete | MultiDiscrete):
        return rows
    starts, sizes = np.ravel(space.start), np.ravel(space.n if isinstance(space, Discrete) else space.nvec)
    entries = np.repeat(np.arange(len(sizes)), sizes)
    values = np.concatenate([np.arange(size) + start for size, start in zip(sizes, starts, strict=True)])
    return tf.gather(rows, entries, axis=1) == tf.constant(values, rows.dtype)


def _users_actions(actions: tf.Tensor, space: gymnasium.Space[Any]) -> tf.Tensor:
    """Maps the networks' actions to the environment's own, as `Spaces.decode_actions`, but in float32."""
    if isinstance(space, Choices):
        joint = np.arange(number_of_actions(space))
        return tf.gather(tf.constant(to_choices(joint, space)), actions)
    if not isinstance(space, Box):
        return actions
    low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    fractions = (tf.reshape(tf.clip_by_value(actions, -1.0, 1.0), [-1, *space.shape]) + 1) / 2
    return tf.cast(tf.clip_by_value(low + fractions * (high - low), low, high), space.dtype)
