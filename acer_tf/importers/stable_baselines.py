"""Agents of Stable Baselines 2 in its three file formats: a zip, a pickle of named arrays, and a pickle of a list."""

import base64
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from acer_tf.importers.files import decompressed, read_file
from acer_tf.importers.imported import ImportedAgent
from acer_tf.importers.layers import grouped, network, numbered
from acer_tf.importers.objects import Inert
from acer_tf.importers.pickled import read_pickle
from acer_tf.storage import arrays
from acer_tf.storage.input_errors import as_input_error
from acer_tf.storage.recognition import Content
from acer_tf.storage.space_json import space_from_data
from acer_tf.storage.zip_files import check_members

LARGEST_TEXT = 2**22
"""Most bytes of a zip's `data` and `parameter_list`; as Python objects they take about twenty times as much."""
_ZIP = b"PK"
_DEFAULT_BUFFER_SIZE = 5000
_SETTINGS = (
    "gamma", "n_steps", "q_coef", "ent_coef", "max_grad_norm", "learning_rate", "lr_schedule", "rprop_alpha",
    "rprop_epsilon", "replay_ratio", "replay_start", "seed",
)  # fmt: skip
_USED = (*_SETTINGS, "policy", "policy_kwargs", "observation_space", "action_space")
"""The entries of `data` that are read."""
_POLICIES = (
    "MlpPolicy", "MlpLstmPolicy", "MlpLnLstmPolicy", "CnnPolicy", "CnnLstmPolicy", "CnnLnLstmPolicy",
    "FeedForwardPolicy", "LstmPolicy",
)  # fmt: skip
_TENSORFLOW = ("tensorflow.", "tensorflow_core.")  # 1.15 has its own modules in the latter
_ACTIVATIONS = ("tanh", "relu", "elu", "selu", "sigmoid", "softplus", "softsign", "relu6", "leaky_relu", "swish")
_POLICY_KWARGS = (
    "act_fun", "net_arch", "layers", "n_lstm", "layer_norm", "feature_extraction", "cnn_extractor", "one_dim_bias",
)  # fmt: skip


def read_stable_baselines(path: str | Path) -> ImportedAgent:
    """Reads a file that Stable Baselines 2's `ACER.save` wrote, which holds neither average policy nor slots.

    Raises:
        InputError: the file cannot be read, or holds something else or a policy that it does not fully describe.
    """
    with as_input_error(path, "an ACER agent of Stable Baselines 2", Content.STABLE_BASELINES):
        return _agent(read_file(path))


def is_stable_baselines(path: str | Path) -> bool:
    """Returns True for a file of Stable Baselines 2 (a zip or a pickled pair), False for baselines' (a pickled dict).

    Raises:
        InputError: the file cannot be read, or is neither.
    """
    with as_input_error(path, "an agent of Stable Baselines 2 or baselines", Content.STABLE_BASELINES):
        data = read_file(path)
        if data.startswith(_ZIP):
            return True
        value = read_pickle(decompressed(data))
        if not isinstance(value, tuple | dict):
            raise ValueError(
                "expected settings and parameters, or parameters by name, which baselines has since August 2018"
            )
        return isinstance(value, tuple)


def _agent(file: bytes) -> ImportedAgent:
    data, params = _zipped(file) if file.startswith(_ZIP) else _pickled(decompressed(file))
    if "replay_ratio" not in data:
        raise ValueError("it has no replay_ratio, as every ACER agent has")
    action_space, observation_space = read_space(data.get("action_space")), read_space(data.get("observation_space"))
    if not isinstance(action_space, gym.spaces.Discrete):
        raise ValueError("its actions are not discrete")
    if observation_space is None:
        raise ValueError("its observation space is not one that Stable Baselines' ACER supported")
    policy, arguments = _policy(data.get("policy")), _policy_kwargs(data.get("policy_kwargs"))
    layers = grouped(params) if isinstance(params, dict) else numbered(params, policy, arguments)
    policy, policy_kwargs, weights = network(layers)
    if policy.startswith("Cnn"):
        _check_bounds(observation_space)
    policy_kwargs |= _activation(arguments)
    return ImportedAgent(policy, policy_kwargs, _settings(data), observation_space, action_space, weights)


def _pickled(file: bytes) -> tuple[dict[Any, Any], Any]:
    match read_pickle(file):
        case (dict() as data, (dict() | list()) as params):
            return data, params
    raise ValueError("expected settings and parameters")


def _zipped(file: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            check_members(archive, arrays.LARGEST_COMPRESSED)
            data, names = (_read_json(archive, name) for name in ("data", "parameter_list"))
            params = arrays.read_arrays(io.BytesIO(archive.read("parameters")))
            used = {name: _unpickled(data[name]) for name in _USED if name in data}
            return used, {name: params[name] for name in names}
    except (AttributeError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"expected data, parameter_list and parameters: {error}") from error


def _read_json(archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > LARGEST_TEXT:
        raise ValueError(f"{name} has more than {LARGEST_TEXT / 2**20:.0f} MiB")
    return json.loads(archive.read(name))


def _unpickled(value: Any) -> Any:
    """Decodes a value of `data` that was pickled because JSON cannot represent it."""
    if isinstance(value, dict) and isinstance(text := value.get(":serialized:"), str):
        return read_pickle(base64.b64decode(text))
    return value


def _policy(policy: Any) -> str:
    name = policy
    if isinstance(policy, Inert):
        name = policy.short_name if policy.name.startswith("stable_baselines.") else ""
    if name not in _POLICIES:
        raise ValueError("its policy is a user-defined class, whose code no file holds")
    return str(name)


def _policy_kwargs(arguments: Any) -> dict[str, Any]:
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError("its policy_kwargs are not a dict")
    if unknown := [name for name in arguments if name not in _POLICY_KWARGS]:
        raise ValueError(f"its policy_kwargs hold {str(unknown[0])[:80]!r}, which cannot be imported")
    extractor = arguments.get("cnn_extractor")
    if extractor is not None and getattr(extractor, "name", None) != "stable_baselines.common.policies.nature_cnn":
        raise ValueError("its cnn_extractor is user-defined, and no file holds its code")
    return arguments


def _activation(arguments: dict[str, Any]) -> dict[str, str]:
    match arguments.get("act_fun"):
        case None:
            return {}
        case Inert(short_name=name) as function if function.name.startswith(_TENSORFLOW) and name in _ACTIVATIONS:
            return {"act_fun": name}
    raise ValueError(f"its act_fun is none of {', '.join(_ACTIVATIONS)}")


def _settings(data: dict[Any, Any]) -> dict[str, Any]:
    settings = {name: data[name] for name in _SETTINGS if name in data}
    for name, value in settings.items():
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"its {name} is not a number")
    # The size of replay was not saved; the default must hold at least `replay_start`.
    if isinstance(start := settings.get("replay_start"), int | float) and start > _DEFAULT_BUFFER_SIZE:
        settings["buffer_size"] = start
    return settings


def _check_bounds(observation_space: gym.Space[Any]) -> None:
    """Refuses bounds other than 0 and 255: Stable Baselines scales images by their bounds, this package by 255."""
    if not isinstance(observation_space, gym.spaces.Box) or not (
        np.all(observation_space.low == 0) and np.all(observation_space.high == 255)
    ):
        raise ValueError("its policy is for images, but its observations are not bounded by 0 and 255")


def read_space(described: Any) -> gym.Space[Any] | None:
    """Returns the space that a pickled object describes, or None if it is not a Box, Discrete or Multi- space."""
    if not isinstance(described, Inert) or not isinstance(described.state, dict):
        return None
    try:
        data = _space_data(described.short_name, described.state)
        return None if data is None else space_from_data(data)
    except (AssertionError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"its {described.short_name} space is invalid") from error


def _space_data(name: str, state: dict[Any, Any]) -> dict[str, Any] | None:
    match name, state:
        case "Box", {"low": np.ndarray() as low, "high": np.ndarray() as high}:
            bounds = {"low": _unbounded(low), "high": _unbounded(high)}
            return {"type": name, "shape": low.shape, "dtype": low.dtype, **bounds}
        case "Discrete", {"n": int() as n}:
            return {"type": name, "n": n, "start": 0}
        case "MultiDiscrete", {"nvec": np.ndarray() as nvec}:
            return {"type": name, "nvec": nvec, "start": np.zeros_like(nvec)}
        case "MultiBinary", {"n": int() as n}:
            return {"type": name, "shape": [n]}
    return None


def _unbounded(bound: NDArray[Any]) -> NDArray[Any]:
    """Replaces the largest finite number, which meant no bound in gym's environments, by gymnasium's infinity."""
    if bound.dtype.kind != "f":
        return bound
    return np.where(np.abs(bound) == np.finfo(bound.dtype).max, np.copysign(np.inf, bound), bound).astype(bound.dtype)
