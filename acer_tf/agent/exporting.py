"""The deterministic policy for use without this package: as a SavedModel, or as an ONNX or TFLite file."""

import math
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import tensorflow as tf
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray

from acer_tf.agent.spaces import Spaces
from acer_tf.agent.state import AgentState
from acer_tf.envs.wrappers.flatten import OneHots, parts_of
from acer_tf.envs.wrappers.joint_actions import Choices, number_of_actions, to_choices
from acer_tf.envs.wrappers.normalize import CLIP, EPS
from acer_tf.errors import InputError, require
from acer_tf.packing import Packed
from acer_tf.storage.durable import new_folder, replace, require_free, writing
from acer_tf.storage.paths import user_path

Arrays = Mapping[str, NDArray[Any]]
Format = Literal["saved_model", "onnx", "tflite"]
Act = Any
"""A `tf.function`."""
Specs = dict[str, tf.TensorSpec]

ONNX_OPSET = 17
"""Version of ONNX's operators: that of onnxruntime 1.12 and later."""
OUTPUTS = {"state": "next_state"}
"""Outputs with another name in ONNX, where an input and an output cannot share a name."""


def export(path: str | Path, agent: AgentState, form: Format = "saved_model") -> None:
    """Writes the policy in a format; see `ACER.export`."""
    path = user_path(path)
    require_free(path, may_be_empty=form == "saved_model")
    writers = {"saved_model": _write_folder, "onnx": _write_onnx, "tflite": _write_tflite}
    if form not in writers:
        raise InputError(f"format is {form!r}; expected one of {', '.join(writers)}.")
    module, act, specs = _deterministic_policy(agent)
    try:
        with writing(path):
            writers[form](path, module, act, specs)
    except tf.errors.OpError as error:
        raise InputError(f"{path} cannot be written ({error.message}).") from error


def _deterministic_policy(agent: AgentState) -> tuple[tf.Module, Act, Specs]:
    """Returns the policy's parameters, its function, and the specifications of its inputs by name."""
    policy, spaces, normalization = agent.model.policy, agent.spaces, agent.normalization.arrays
    parts = _parts(spaces)
    specs = {name: tf.TensorSpec([None, *(part.shape or ())], part.dtype, name) for name, part in parts}
    if len(specs) < len(parts):
        raise InputError("two parts of the observation would have one name in the exported policy; rename one.")
    size = policy.network.state_size
    if size:
        specs["state"] = tf.TensorSpec([None, size], tf.float32, "state")
        specs["mask"] = tf.TensorSpec([None], tf.bool, "mask")

    @tf.function(autograph=False)
    def act(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        obs = _network_input(inputs, spaces, normalization)
        count = tf.shape(tf.nest.flatten(obs)[0])[0]
        state, mask = inputs.get("state", tf.zeros([count, 0])), inputs.get("mask", tf.zeros([count], tf.bool))
        actions, _, state = policy.greedy(obs, state, mask)
        return {"action": _users_actions(actions, spaces.action_space)} | ({"state": state} if size else {})

    module = tf.Module()
    module.parameters = [variable.value for variable in policy.params.values()]
    return module, act, specs


def _write_folder(path: Path, module: tf.Module, act: Act, specs: Specs) -> None:
    with new_folder(path) as folder:
        _write_saved_model(folder, module, act, specs)


def _write_saved_model(path: Path, module: tf.Module, act: Act, specs: Specs) -> None:
    tf.saved_model.save(module, str(path), signatures={"serving_default": act.get_concrete_function(**specs)})


def _write_tflite(path: Path, module: tf.Module, act: Act, specs: Specs) -> None:
    with tempfile.TemporaryDirectory() as folder:  # only from a SavedModel does the converter take inputs' names
        _write_saved_model(Path(folder), module, act, specs)
        converted = tf.lite.TFLiteConverter.from_saved_model(folder).convert()
    replace(path, converted)


def _write_onnx(path: Path, module: tf.Module, act: Act, specs: Specs) -> None:
    require("tf2onnx", "ONNX needs", "onnx")
    import tf2onnx

    @tf.function(autograph=False)
    def positional(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = act(**dict(zip(specs, tensors, strict=True)))
        return {OUTPUTS.get(name, name): output for name, output in outputs.items()}

    model, _ = tf2onnx.convert.from_function(positional, list(specs.values()), opset=ONNX_OPSET)
    replace(path, model.SerializeToString())


def _parts(spaces: Spaces) -> list[tuple[str, gymnasium.Space[Any]]]:
    """Returns the name and the space of each input."""
    return [
        ("_".join(["obs", *(re.sub(r"\W", "_", str(key)) for key in path)]), part)
        for path, part in parts_of(spaces.observation_space)
    ]


def _network_input(inputs: Mapping[str, tf.Tensor], spaces: Spaces, normalization: Arrays) -> Any:
    """Flattens and normalises like `Spaces.encode_observations`, but in float32, which model converters support."""
    space = spaces.flatten.space
    vectors = [_vector(inputs[name], part) for name, part in _parts(spaces)]
    if isinstance(space, Packed):  # in parts: ONNX has no operation to pack them
        boxes = space.parts.items()
        return {
            name: tf.reshape(tf.cast(vector, box.dtype), [-1, *box.shape])
            for (name, box), vector in zip(boxes, vectors, strict=True)
        }
    dtype = tf.float32 if np.issubdtype(space.dtype, np.floating) else space.dtype
    vectors = [tf.cast(vector, dtype) for vector in vectors]
    rows = tf.reshape(tf.concat(vectors, axis=1), [-1, *space.shape])
    if not spaces.is_normalized:
        return rows
    mean, scale = normalization["obs_mean"], np.sqrt(normalization["obs_var"] + EPS)
    rounded = mean.astype(np.float32)
    rest = ((mean - rounded) / scale).astype(np.float32)  # matters where a deviation is small compared with its mean
    units = (tf.cast(rows, tf.float32) - rounded) / scale.astype(np.float32) - rest
    return tf.clip_by_value(units, -CLIP, CLIP)


def _vector(observations: tf.Tensor, space: gymnasium.Space[Any]) -> tf.Tensor:
    """Maps [N, ...] to [N, F], with one-hot encoding for discrete observations."""
    rows = tf.reshape(observations, [-1, math.prod(space.shape or ())])
    if not isinstance(space, Discrete | MultiDiscrete):
        return rows
    one_hots = OneHots(space)
    return tf.gather(rows, one_hots.entries, axis=1) == tf.constant(one_hots.values, rows.dtype)


def _users_actions(actions: tf.Tensor, space: gymnasium.Space[Any]) -> tf.Tensor:
    """Maps the networks' actions to the environment's own, like `Spaces.decode_actions`, but in float32."""
    if isinstance(space, Choices):
        joint = np.arange(number_of_actions(space))
        return tf.gather(tf.constant(to_choices(joint, space)), actions)
    if not isinstance(space, Box):
        return actions
    low, high = _within(space.low, np.inf), _within(space.high, -np.inf)
    fractions = (tf.reshape(tf.clip_by_value(actions, -1.0, 1.0), [-1, *space.shape]) + 1) / 2
    return tf.cast(tf.clip_by_value(low + fractions * (high - low), low, high), space.dtype)


def _within(bound: NDArray[Any], inward: float) -> NDArray[np.float32]:
    """Returns a bound in float32, never rounded outward: `inward` is the infinity on the side of the other bound."""
    rounded = bound.astype(np.float32)
    is_outside = rounded < bound if inward > 0 else rounded > bound
    return np.where(is_outside, np.nextafter(rounded, np.float32(inward)), rounded)
