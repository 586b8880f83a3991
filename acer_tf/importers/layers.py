"""Layers of Stable Baselines 2's policies (`common/policies.py`), and equivalent networks of this package."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.importers.imported import Arrays, layer_arrays

Layers = dict[str, dict[str, NDArray[Any]]]
"""Arrays of each layer by their names in the file; layers are in the order in which the policy created them."""

_NAME = re.compile(r"model/([^/]+)/([^/:]+):0")
_CONVOLUTIONS = ("c1", "c2", "c3", "fc1")
_LSTM, _LSTM_ITEM = "lstm1", "lstm"  # the layer, and its item in net_arch
_LSTM_ARRAYS = ("wx", "wh", "b")
_NORM_ARRAYS = ("gx", "bx", "gh", "bh", "gc", "bc")
_OLDEST_ORDER = ("wx", "gx", "bx", "wh", "gh", "bh", "b", "gc", "bc")
_LAST = ("vf", "pi", "q")

_Parts = tuple[list[str], list[str], dict[str, list[str]]]
"""Names of layers: shared before the LSTM, shared after it, and separate ones of policy and critic (`pi`, `vf`)."""


def grouped(params: Mapping[Any, Any]) -> Layers:
    """Groups arrays by layer, from names such as model/pi_fc0/w:0."""
    layers: Layers = {}
    for key, array in params.items():
        name = _NAME.fullmatch(key) if isinstance(key, str) else None
        if name is None or not isinstance(array, np.ndarray):
            raise ValueError(f"its parameter {str(key)[:80]!r} is unknown")
        layers.setdefault(name[1], {})[name[2]] = array
    return layers


def numbered(params: Sequence[Any], policy: str, arguments: Mapping[str, Any]) -> Layers:
    """Groups unnamed arrays by layer, from the order in which a policy with these arguments creates them."""
    if not all(isinstance(array, np.ndarray) for array in params):
        raise ValueError("one of its parameters is not an array")
    is_normalized = bool(arguments.get("layer_norm", "LnLstm" in policy))
    size_of_lstm = len(_LSTM_ARRAYS) + is_normalized * len(_NORM_ARRAYS)
    rest = len(params) - 2 * len(_LAST) - ("Lstm" in policy) * size_of_lstm
    left = iter(params)
    layers: Layers = {}
    for layer in [*_body(policy, arguments, rest // 2), *_LAST]:
        arrays = list(itertools.islice(left, size_of_lstm if layer == _LSTM else 2))
        names = _order(arrays) if layer == _LSTM else ("w", "b")
        layers[layer] = dict(zip(names, arrays, strict=False))
    if sum(map(len, layers.values())) != len(params) or not layers["q"]:
        raise ValueError(f"it has {len(params)} arrays, but its policy has a different number")
    return layers


def _order(arrays: list[NDArray[Any]]) -> tuple[str, ...]:
    if len(arrays) == len(_OLDEST_ORDER) and arrays[1].ndim == 1:
        return _OLDEST_ORDER
    return _LSTM_ARRAYS + _NORM_ARRAYS


def _body(policy: str, arguments: Mapping[str, Any], count: int) -> list[str]:
    """Returns the names of all layers except the last three; `count` of them are not the LSTM."""
    is_recurrent = "Lstm" in policy
    if arguments.get("feature_extraction", "mlp" if policy.startswith("Mlp") else "cnn") == "cnn":
        return [*_CONVOLUTIONS, _LSTM] if is_recurrent else [*_CONVOLUTIONS]
    net_arch = arguments.get("net_arch")
    if net_arch is None and is_recurrent:
        return [*(f"pi_fc{i}" for i in range(count)), _LSTM]
    if net_arch is None:
        return [name for i in range(count // 2) for name in (f"pi_fc{i}", f"vf_fc{i}")]
    return _in_net_arch(net_arch, is_recurrent)


def _in_net_arch(net_arch: Any, is_recurrent: bool) -> list[str]:
    match net_arch:
        case [*shared, dict() as ends]:
            pass
        case [*shared]:
            ends = {}
        case _:
            raise ValueError("its net_arch is not a list")
    names = [_LSTM if item == _LSTM_ITEM else f"shared_fc{i}" for i, item in enumerate(shared)]
    pi, vf = ([f"{end}_fc{i}" for i in range(len(ends.get(end, [])))] for end in ("pi", "vf"))
    by_turns = [name for pair in itertools.zip_longest(pi, vf) for name in pair if name is not None]
    return names + (pi + vf if is_recurrent else by_turns)


def network(layers: Layers) -> tuple[str, dict[str, Any], Arrays]:
    """Returns this package's policy with these layers, its `policy_kwargs`, and its weights."""
    if missing := [name for name in ("pi", "q") if name not in layers]:
        raise ValueError(f"it has no layer {missing[0]}")
    # vf is other algorithms' V, which ACER computes from pi and q.
    body = {name: arrays for name, arrays in layers.items() if name not in _LAST}
    heads = {"pi_head": layers["pi"], "q_head": layers["q"]}
    convolutions = {f"shared/{name}": body.pop(name) for name in _CONVOLUTIONS if name in body}
    lstm = body.get(_LSTM, {})
    kind = "LnLstm" if "gx" in lstm else "Lstm" if lstm else ""
    recurrent = {f"shared/{kind.lower()}": lstm} if lstm else {}
    parts = _parts(list(body))
    arguments: dict[str, Any] = {"n_lstm": len(_matrix(lstm, "wh"))} if lstm else {}
    if not convolutions:
        arguments["net_arch"] = _net_arch(body, parts)
    elif body.keys() - {_LSTM} or len(convolutions) < len(_CONVOLUTIONS):
        raise ValueError("its network for images is not one of Stable Baselines' own")
    renamed = convolutions | _dense(body, parts) | recurrent | heads
    weights = [layer_arrays(layer, arrays) for layer, arrays in renamed.items()]
    policy = f"{'Cnn' if convolutions else 'Mlp'}{kind}Policy"
    return policy, arguments, {name: array for part in weights for name, array in part.items()}


def _dense(body: Layers, parts: _Parts) -> Layers:
    """Returns the dense layers under this package's names."""
    before, after, ends = parts
    named = {f"shared/shared_fc{i}": body[name] for i, name in enumerate(before)}
    named |= {f"after_fc{i}": body[name] for i, name in enumerate(after)}
    return named | {f"{end}_fc{i}": body[name] for end, names in ends.items() for i, name in enumerate(names)}


def _net_arch(body: Layers, parts: _Parts) -> list[Any]:
    """Returns the argument `net_arch` that yields these layers."""
    before, after, ends = parts
    place = [_LSTM_ITEM] if _LSTM in body else []
    own = {end: [_width(body[name]) for name in names] for end, names in ends.items()}
    return [*(_width(body[name]) for name in before), *place, *(_width(body[name]) for name in after), own]


def _parts(names: list[str]) -> _Parts:
    """Splits the layers of a policy."""
    place = names.index(_LSTM) if _LSTM in names else 0
    before, rest = names[:place], [name for name in names[place:] if name != _LSTM]
    parts: dict[str, list[str]] = {"shared": [], "pi": [], "vf": []}
    for name in rest:
        if not (match := re.fullmatch(r"(shared|pi|vf)_fc\d+", name)):
            raise ValueError(f"its layer {name[:80]!r} is unknown")
        parts[match[1]].append(name)
    shared = parts.pop("shared")
    return (before, shared, parts) if _LSTM in names else (shared, [], parts)


def _width(layer: Mapping[str, NDArray[Any]]) -> int:
    return int(_matrix(layer, "w").shape[1])


def _matrix(layer: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in layer or layer[name].ndim != 2:
        raise ValueError(f"one of its layers has no matrix {name}")
    return layer[name]
