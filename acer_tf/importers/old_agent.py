"""An agent of a dead library, in this package's terms."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float32]]


class OldAgent(NamedTuple):
    """What a file holds.

    Attributes:
        policy: name of a policy or network.
        policy_kwargs: its arguments.
        settings: hyper-parameters that the file names, as arguments of `ACER`.
        observation_space: None where the file does not tell.
        action_space: the actions.
        params: weights by this package's names, float32, in its layouts.
        averages: the average policy, under the same names; None where it was not saved.
        mean_squares: RMSProp's, likewise.
        momenta: RMSProp's, likewise.
    """

    policy: str
    policy_kwargs: dict[str, Any]
    settings: dict[str, Any]
    observation_space: gym.Space[Any] | None
    action_space: gym.spaces.Discrete
    params: Arrays
    averages: Arrays | None = None
    mean_squares: Arrays | None = None
    momenta: Arrays | None = None


def layer_arrays(layer: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Names the arrays of a layer, and takes the axes of length 1 off a convolution's bias.

    Args:
        layer: its name here.
        arrays: by their names there: w or weights, b or biases, or those of an LSTM or of a normalisation.

    Raises:
        ValueError: an array is not of real numbers.
    """
    for array in arrays.values():
        if array.dtype.kind != "f":
            raise ValueError(f"its {layer} holds {array.dtype}, no weights")
    if "wx" not in arrays:  # an LSTM's b keeps its name
        arrays = {_NAMES.get(name, name): array for name, array in arrays.items()}
    return {
        f"{layer}/{name}": np.ascontiguousarray(array.ravel() if name == "bias" else array, np.float32)
        for name, array in arrays.items()
    }


_NAMES = {"w": "kernel", "weights": "kernel", "b": "bias", "biases": "bias"}
