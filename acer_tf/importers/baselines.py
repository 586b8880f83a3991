"""Agents of OpenAI baselines: a dict of all variables (weights, average policy, slots), written by joblib."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from acer_tf.importers.files import read_decompressed
from acer_tf.importers.imported import Arrays, ImportedAgent, layer_arrays
from acer_tf.importers.pickled import read_pickle
from acer_tf.storage.input_errors import as_input_error

_SCOPE = "acer_model/"
_AVERAGE, _SLOTS = "/ExponentialMovingAverage", {"ms": "/RMSProp", "mom": "/RMSProp_1"}
# Defaults of baselines' learn() that differ from those of the class ACER.
_SETTINGS = {"buffer_size": 50000, "replay_start": 10000, "bootstrap_truncated": False}
_CONV_ONLY = [(8, 32), (4, 64), (3, 64)]
_BEHIND_PIXELS = {
    "cnn": ("pi/fc1/kernel", 7 * 7 * 64),
    "cnn_small": ("pi/fc1/kernel", 9 * 9 * 16),
    "impala_cnn": ("pi/layer15/kernel", 11 * 11 * 32),
    "conv_only": ("pi_head/kernel", 11 * 11 * 64),
}
"""The first dense layer after the convolutions, and its number of inputs for images of 84 x 84 pixels."""


def read_baselines(path: str | Path) -> ImportedAgent:
    """Reads a file that baselines' `model.save` wrote.

    The file holds no hyper-parameters; those of the network that its weights do not reveal (activation, strides) are
    assumed to be baselines' defaults.

    Raises:
        InputError: the file cannot be read, or holds something else or a network that its weights do not determine.
    """
    with as_input_error(path, "an ACER agent of baselines"):
        return _agent(read_pickle(read_decompressed(path)))


def _agent(variables: Any) -> ImportedAgent:
    params, averages, slots = _groups(variables)
    if "q_head/bias" not in params:
        raise ValueError(f"expected parameters such as {_SCOPE}q/b:0")
    network, network_kwargs = _network(params)
    return ImportedAgent(
        network,
        network_kwargs,
        dict(_SETTINGS),
        _observation_space(network, params),
        gym.spaces.Discrete(len(params["q_head/bias"])),
        params,
        averages,
        slots,
    )


def _groups(variables: Any) -> tuple[Arrays, Arrays, Arrays]:
    """Returns parameters, averages and slots."""
    if not isinstance(variables, dict):
        raise ValueError("expected parameters by name, as baselines saves them since August 2018")
    arrays = {
        name.removeprefix(_SCOPE).removesuffix(":0"): array
        for name, array in variables.items()
        if isinstance(name, str) and name.startswith(_SCOPE) and isinstance(array, np.ndarray)
    }
    suffixes = (_AVERAGE, *_SLOTS.values())
    params = _named({name: array for name, array in arrays.items() if not name.endswith(suffixes)})
    averages, *slots = (
        _named({name.removesuffix(suffix): array for name, array in arrays.items() if name.endswith(suffix)})
        for suffix in suffixes
    )
    for other in (averages, *slots):
        if other and other.keys() != params.keys():
            raise ValueError("some of its parameters lack an average or a slot")
    named = zip(_SLOTS, slots, strict=True)
    return params, averages, {f"{slot}/{name}": a for slot, arrays in named for name, a in arrays.items()}


def _named(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    layers: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        layer, _, kind = name.rpartition("/")
        layers.setdefault(_layer(layer), {})[kind] = array
    # Files from old Pythons have their parameters in any order.
    ordered = sorted(layers.items(), key=lambda item: _natural(item[0]))
    return {name: array for layer, group in ordered for name, array in layer_arrays(layer, group).items()}


def _natural(name: str) -> list[tuple[int, str]]:
    """Returns a key that sorts numbers in names by their values."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _layer(name: str) -> str:
    """Renames a layer: pi/LayerNorm_1 becomes pi/layer_norm1, pi becomes pi_head."""
    scope, _, layer = name.replace("/convnet/", "/").partition("/")
    if not layer:
        return f"{scope}_head"
    for theirs, ours in (("LayerNorm", "layer_norm"), ("Conv", "conv"), ("layer", "layer")):
        if match := re.fullmatch(rf"{theirs}(?:_(\d+))?", layer):
            return f"{scope}/{ours}{match[1] or 0}"
    return f"{scope}/{layer}"


def _network(params: Arrays) -> tuple[str, dict[str, Any]]:
    """Returns name and arguments of the network with these weights."""
    own, critic = ({name[3:]: array for name, array in params.items() if name.startswith(s)} for s in ("pi/", "vf/"))
    name, arguments = _torso(own)
    for layer in ("lstm", "lnlstm"):
        if f"{layer}/wh" in own:
            name = "lstm" if name == "mlp" else f"{name}_lstm"
            units = {"nlstm": len(own[f"{layer}/wh"]), "layer_norm": layer == "lnlstm"}
            arguments = {} if name == "impala_cnn_lstm" else units
    if critic:
        if {name: array.shape for name, array in critic.items()} != {name: array.shape for name, array in own.items()}:
            raise ValueError("its critic has a network of another kind than its policy")
        arguments["value_network"] = "copy"
    return name, arguments


def _torso(own: Arrays) -> tuple[str, dict[str, Any]]:
    kernels = {name.removesuffix("/kernel"): array.shape for name, array in own.items() if name.endswith("/kernel")}
    if "c1" in kernels:
        return ("cnn" if "c3" in kernels else "cnn_small"), {}
    if "layer0" in kernels:
        return "impala_cnn", {}
    if "conv0" in kernels:
        if [(shape[0], shape[-1]) for shape in kernels.values()] != _CONV_ONLY:
            raise ValueError("its network is conv_only with custom convolutions, whose strides no file holds")
        return "conv_only", {}
    layers, widths = list(kernels), [shape[-1] for shape in kernels.values()]
    if layers != [f"mlp_fc{i}" for i in range(len(layers))] or len(set(widths)) > 1:
        raise ValueError("its network is not one of baselines' own")
    arguments = {"num_layers": len(layers), "layer_norm": "layer_norm0/beta" in own}
    return "mlp", arguments | ({"num_hidden": widths[0]} if widths else {})


def _observation_space(network: str, params: Arrays) -> gym.spaces.Box | None:
    """Returns the space if the weights determine it: vectors, or Atari's images of 84 x 84 pixels."""
    first = next((array for name, array in params.items() if name.endswith(("/kernel", "/wx"))), None)
    if first is None:
        raise ValueError("it has no layer")
    if network in ("mlp", "lstm"):
        return gym.spaces.Box(-np.inf, np.inf, (len(first),), np.float32)
    name, rows = _BEHIND_PIXELS[network.removesuffix("_lstm")]
    if len(params[name]) != rows:
        return None
    return gym.spaces.Box(0, 255, (84, 84, first.shape[2]), np.uint8)
