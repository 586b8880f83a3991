"""Policy and Q in one Keras model: one or two torsos and two heads."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium as gym
import keras
import numpy as np

from acer_tf.errors import InputError
from acer_tf.networks import torsos  # noqa: F401  (registers the networks that ship)
from acer_tf.networks.layers import fc
from acer_tf.networks.registry import NetworkFn, network_fn


class ActorCritic(NamedTuple):
    """A network and its parameters.

    Attributes:
        network: maps observations [B, *shape] to policy logits [B, A] and Q [B, A].
        params: trainable variables by name, in baselines' order: policy torso, critic's torso, policy head, Q head.
    """

    network: keras.Model
    params: dict[str, keras.Variable]


def actor_critic(
    network: str | NetworkFn,
    observation_space: gym.spaces.Box,
    nact: int,
    rng: np.random.RandomState,
    value_network: str | NetworkFn | None = None,
    **network_kwargs: Any,
) -> ActorCritic:
    """Builds the network. Its initial weights are drawn from `rng` in the order of `params`.

    Where the features are as wide as there are actions, there is no policy head and they are the logits
    themselves: a quirk of baselines (`common/distributions.py`, `_matching_fc`).

    Args:
        network: name or function of the torso.
        observation_space: space of one observation.
        nact: number of actions.
        rng: the run's generator.
        value_network: None or "shared": the critic uses the policy's torso; "copy": it has one of its own, built alike;
            or a function that builds it.
        **network_kwargs: arguments of the named network.

    Raises:
        InputError: a network or arguments that do not exist, or a named network that does not fit the observations.
    """
    make_torso = network_fn(network, rng, network_kwargs)
    inputs = keras.Input(observation_space.shape, dtype=str(observation_space.dtype))
    policy_torso = _torso("pi", make_torso, inputs)
    latent = q_latent = policy_torso(inputs)
    parts = [policy_torso]
    if value_network is not None and value_network != "shared":
        parts.append(_torso("vf", _value_network_fn(value_network, make_torso), inputs))
        q_latent = parts[-1](inputs)

    logits = latent
    if latent.shape[-1] != nact:
        parts.append(fc("pi_head", nact, rng, scale=0.01))
        logits = parts[-1](latent)
    parts.append(fc("q_head", nact, rng))
    q = parts[-1](q_latent)
    return ActorCritic(network=keras.Model(inputs, [logits, q], name="actor_critic"), params=_named_parameters(parts))


def _value_network_fn(value_network: str | NetworkFn, make_torso: NetworkFn) -> NetworkFn:
    if callable(value_network):
        return value_network
    if value_network == "copy":
        return make_torso
    raise InputError(f"value_network is {value_network!r}; expected 'shared', 'copy', None or a function.")


def _torso(name: str, make_torso: NetworkFn, inputs: keras.KerasTensor) -> keras.Model:
    own_inputs = keras.Input(inputs.shape[1:], dtype=inputs.dtype)
    return keras.Model(own_inputs, keras.layers.Flatten()(make_torso(own_inputs)), name=name)


def _named_parameters(parts: list[keras.layers.Layer]) -> dict[str, keras.Variable]:
    params: dict[str, keras.Variable] = {}
    for part in parts:
        scope = f"{part.name}/" if isinstance(part, keras.Model) else ""  # both torsos have layers of the same names
        names = _numbered_anew([variable.path for variable in part.trainable_variables])
        params |= {scope + name: variable for name, variable in zip(names, part.trainable_variables, strict=True)}
    return params


def _numbered_anew(paths: list[str]) -> Iterator[str]:
    """Numbers layers that Keras named from the start: `dense_7/bias` is the first `dense/bias` of its network.

    Keras counts them through the whole process; the names of saved weights must not depend on what was built before.
    """
    siblings: dict[str, list[str]] = {}
    for path in paths:
        name = parent = ""
        for layer in path.split("/"):
            stem = re.sub(r"_\d+$", "", layer)
            alike = siblings.setdefault(f"{parent}/{stem}", [])
            if layer not in alike:
                alike.append(layer)
            number = alike.index(layer)
            name += f"/{stem}_{number}" if number else f"/{stem}"
            parent += f"/{layer}"
        yield name.removeprefix("/")
