"""The result of an import: an agent of another library, with this package's names and layouts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float32]]
"""Arrays by parameter name."""

_NAMES = {"w": "kernel", "weights": "kernel", "b": "bias", "biases": "bias"}


class ImportedAgent(NamedTuple):
    """An agent that another library saved.

    Attributes:
        policy: name of the policy or network.
        policy_kwargs: its arguments.
        settings: hyper-parameters in the file, as arguments of `ACER`.
        observation_space: None if the file does not determine it.
        action_space: the actions.
        params: float32 weights by parameter name.
        averages: weights of the average policy by parameter name; empty if the file has none.
        slots: RMSProp's slots by their names in `Model.state_dict`; likewise.
    """

    policy: str
    policy_kwargs: dict[str, Any]
    settings: dict[str, Any]
    observation_space: gym.Space[Any] | None
    action_space: gym.spaces.Discrete
    params: Arrays
    averages: Mapping[str, NDArray[np.float32]] = MappingProxyType({})
    slots: Mapping[str, NDArray[np.float32]] = MappingProxyType({})


def layer_arrays(layer: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Renames a layer's arrays to this package's parameters, and flattens biases of convolutions."""
    for array in arrays.values():
        if array.dtype.kind != "f":
            raise ValueError(f"its {layer} holds {array.dtype}, not weights")
    if "wx" not in arrays:  # an LSTM's b keeps its name
        arrays = {_NAMES.get(name, name): array for name, array in arrays.items()}
    return {
        f"{layer}/{name}": np.ascontiguousarray(array.ravel() if name == "bias" else array, np.float32)
        for name, array in arrays.items()
    }
