"""The registry of networks by name, to which users can add their own."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import gymnasium as gym
import keras
import numpy as np

from acer_tf.errors import InputError
from acer_tf.networks.names import check_network, checked_arguments
from acer_tf.packing import Packed

Observations = keras.KerasTensor | dict[str, keras.KerasTensor]
"""A batch [B, *shape] in the space's dtype or, if images are in a Dict or Tuple, its parts by name: images [B, H, W, C]
uint8, everything else as vectors [B, F] float32."""
NetworkFn = Callable[[Any], keras.KerasTensor]
"""A torso: maps `Observations` to features [B, ...]."""


class Recurrent(NamedTuple):
    """A recurrent network: a torso applied to each observation, and a recurrent core applied through time.

    Attributes:
        torso: as in a feed-forward network.
        memory: creates the recurrent core, a Keras layer with an attribute `state_size`, P. The layer is called on
            features [N, T, F] float32, masks [N, T] bool and a state [N, P] float32, and returns outputs [N, T, H]
            float32 and the state after the last step, [N, P]. Where a mask is True, an episode ended before the step,
            and the state must be reset to zero.
    """

    torso: NetworkFn
    memory: Callable[[], keras.layers.Layer]


class Split(NamedTuple):
    """A network whose policy and critic share the first layers and have separate last layers.

    Attributes:
        body: the shared network.
        ends: maps its features, [B, F], to the policy's, [B, G], and the critic's, [B, H].
    """

    body: NetworkFn | Recurrent
    ends: Callable[[keras.KerasTensor], tuple[keras.KerasTensor, keras.KerasTensor]]


Network = NetworkFn | Recurrent | Split
Builder = Callable[..., Network]
"""Called as `builder(rng, **network_kwargs)`; initial weights are drawn from `rng`, or by Keras."""
AnyBuilder = TypeVar("AnyBuilder", bound=Builder)

MOST_NARROW = 20.0
"""Largest range of observations that cannot be pixels, since a division by 255 would leave next to nothing of them:
that of normalised observations (`acer_tf.envs.wrappers.normalize.CLIP`)."""

_BUILDERS: dict[str, Builder] = {}
_PIXEL_NETWORKS: set[str] = set()


def register(name: str, sees_pixels: bool = False) -> Callable[[AnyBuilder], AnyBuilder]:
    """Registers a builder under a name, for `learn(network=name)` and `--network name`.

    Args:
        name: name of the network.
        sees_pixels: whether it divides observations by 255, as baselines' image networks do whatever the bounds.

    Example:
        >>> @register("tiny")
        ... def tiny(rng, units=8):
        ...     return lambda inputs: keras.layers.Dense(units)(keras.ops.cast(inputs, "float32"))

    Raises:
        InputError: another function has the name; the same function, defined again in a notebook, is replaced.
    """

    def add(builder: AnyBuilder) -> AnyBuilder:
        if name in _BUILDERS and not _is_anew(builder, _BUILDERS[name]):
            raise InputError(f"network '{name}' is registered already; choose another name.")
        _BUILDERS[name] = builder
        (_PIXEL_NETWORKS.add if sees_pixels else _PIXEL_NETWORKS.discard)(name)
        return builder

    return add


def _is_anew(builder: Builder, old: Builder) -> bool:
    """Returns whether a function is a new definition of the old one."""
    name, other = ((getattr(f, "__module__", None), getattr(f, "__qualname__", "<lambda>")) for f in (builder, old))
    return name == other and "<lambda>" not in name[1]


def network_fn(network: str | Network, rng: np.random.RandomState, network_kwargs: dict[str, Any]) -> Network:
    """Looks a network up by name and builds it with its arguments. Network objects are returned unchanged.

    Raises:
        InputError: the name does not exist, or the network does not accept the arguments: they are unknown or, if
            annotated with types of settings or bool, of another type or out of range.
    """
    if not isinstance(network, str) and (callable(network) or isinstance(network, Recurrent | Split)):
        if network_kwargs:
            raise InputError(f"arguments {sorted(network_kwargs)} belong to no network: the network is a function.")
        return network
    check_network(str(network), _BUILDERS)
    builder = _BUILDERS[network]
    _, *parameters = inspect.signature(builder).parameters.values()
    known = {parameter.name: parameter.annotation for parameter in parameters}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        known = {**dict.fromkeys(network_kwargs), **known}
    return builder(rng, **checked_arguments(network, network_kwargs, known))


def with_defaults(network: object, network_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a named network with defaults for missing ones; for other networks, as given."""
    if not isinstance(network, str) or network not in _BUILDERS:
        return dict(network_kwargs)
    parameters = inspect.signature(_BUILDERS[network]).parameters.values()
    defaults = {
        parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty
    }
    return {**defaults, **network_kwargs}


def check_pixels(network: object, observation_space: gym.spaces.Box) -> None:
    """Checks that observations suit a named network for images.

    Raises:
        InputError: they are not images, or their bounds are so close together that a division by 255 would leave next
            to nothing of them.
    """
    if isinstance(observation_space, Packed):
        if network in _PIXEL_NETWORKS or str(network).startswith("MultiInput"):
            for image in observation_space.images.values():
                _check_image(network, image)
    elif network in _PIXEL_NETWORKS:
        _check_image(network, observation_space)


def _check_image(network: object, observation_space: gym.spaces.Box) -> None:
    shape = observation_space.shape
    if len(shape) != 3:
        raise InputError(
            f"network '{network}' is for images [height, width, channels], but observations have shape {shape}; choose "
            "another, such as mlp."
        )
    if shape[0] <= 4 < min(shape[1:]):
        raise InputError(
            f"network '{network}' is for images [height, width, channels], but observations have shape {shape}, in "
            "which channels come first; move them to the end, np.moveaxis(image, 0, -1), in a wrapper of the "
            "environment."
        )
    low, high = float(observation_space.low.min()), float(observation_space.high.max())
    if high - low <= MOST_NARROW:
        raise InputError(
            f"network '{network}' divides observations by 255, but these lie between {low:g} and {high:g}; give images "
            "from 0 to 255, best as uint8, and leave normalize_observations off."
        )
