"""Makes the policy that suits an environment's actions."""

import dataclasses
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from acer_tf.config import Continuous
from acer_tf.errors import InputError
from acer_tf.networks.registry import Network
from acer_tf.networks.trunk import computing_in
from acer_tf.policies.base import Policy
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.policies.gaussian import GaussianPolicy
from acer_tf.system.streams import seeded


def make_policy(
    network: str | Network,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    rng: np.random.RandomState,
    seed: int,
    continuous: Continuous,
    precision: str,
    /,
    **network_kwargs: Any,
) -> Policy:
    """Builds a policy for the spaces of the Runner's environments.

    Python's and numpy's global random streams are left as they are.

    Args:
        network: name of a registered network, or a function that makes one, see `acer_tf.learn`.
        observation_space: a Box.
        action_space: Discrete, or a Box in units of half the range.
        rng: draws the initial weights.
        seed: seed for weights that a user's own network draws from the global streams.
        continuous: settings for Box actions only.
        precision: precision of the layers below the heads.
        **network_kwargs: arguments of the named network, and `value_network`.

    Raises:
        InputError: the network does not exist, or an argument does not fit it or the actions.
    """
    assert isinstance(observation_space, Box)
    # A user's own network may draw weights from the global streams: these are seeded, then restored.
    with seeded(seed), computing_in("float32"):
        # The kind of actions decides the policy; all code after that is shared.
        if isinstance(action_space, Box):
            return GaussianPolicy(
                network, observation_space, action_space, rng, continuous, precision, **network_kwargs
            )
        assert isinstance(action_space, Discrete)
        _refuse_continuous(continuous)
        return CategoricalPolicy(network, observation_space, action_space, rng, precision, **network_kwargs)


def _refuse_continuous(continuous: Continuous) -> None:
    for field in dataclasses.fields(Continuous):
        if (value := getattr(continuous, field.name)) != field.default:
            belongs = "it belongs to Box actions, as do presets that set it"
            raise InputError(f"{field.name} is {value!r}, but the actions are not a Box; {belongs}.")
