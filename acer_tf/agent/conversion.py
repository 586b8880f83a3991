"""An agent made of one of a dead library."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv

from acer_tf.agent import state
from acer_tf.agent.translation import Translation
from acer_tf.envs.make import unwrap
from acer_tf.errors import InputError
from acer_tf.importers.imported import ImportedAgent
from acer_tf.storage.agent_file import Arrays

if TYPE_CHECKING:
    from acer_tf.agent.policy_holder import PolicyHolder


def translation(
    old: ImportedAgent, path: str | Path, env: VectorEnv[Any, Any, Any] | None, is_normalized: bool
) -> Translation:
    """Returns the translation for the environment's spaces or, without one, for those that the file tells.

    Bounds may be others than when the agent was trained: its network does not depend on them.

    Args:
        old: the agent.
        path: its file.
        env: the environment.
        is_normalized: whether observations are normalised.

    Raises:
        InputError: the environment has other observations or actions, or there is none and the file does not tell.
    """
    if env is None:
        if old.observation_space is None:
            raise InputError(f"{path} does not tell the size of the images; give the environment that they are of.")
        return Translation(old.observation_space, old.action_space, is_normalized)
    own = unwrap(env)
    for name, theirs, ours in (
        ("observation", own.single_observation_space, old.observation_space),
        ("action", own.single_action_space, old.action_space),
    ):
        if ours is not None and not _is_alike(theirs, ours):
            raise InputError(f"the environment's {name} space is {theirs}; the agent in {path} has {ours}.")
    return Translation(own.single_observation_space, own.single_action_space, is_normalized)


def load(agent: "PolicyHolder", old: ImportedAgent, path: str | Path) -> None:
    """Puts weights, average policy and slots into a freshly built agent; without an average, it is the weights.

    Raises:
        InputError: they are damaged, or of another network.
    """
    model = agent.model
    try:
        state.load_parameters(model, old.params, old.averages or {}, exact_match=True)
    except InputError as error:
        raise InputError(f"the agent in {path} does not fit: {error}") from error
    slots = {"ms": old.mean_squares or {}, "mom": old.momenta or {}}
    arrays = {f"{slot}/{name}": array for slot, named in slots.items() for name, array in named.items()}
    current = model.state_dict()
    model.load_state_dict(current | {name: array for name, array in arrays.items() if name in current}, str(path))


def check_statistics(statistics: Mapping[str, Any], shape: tuple[int, ...], source: str | Path) -> Arrays:
    """Returns running statistics, of observations of this shape.

    Raises:
        InputError: they are of others.
    """
    mean = statistics.get("obs_mean", np.zeros(shape))
    if mean.shape != shape:
        raise InputError(f"the statistics in {source} are of observations of shape {mean.shape}; expected {shape}.")
    return dict(statistics)


def _is_alike(theirs: gymnasium.Space[Any], ours: gymnasium.Space[Any]) -> bool:
    if not isinstance(theirs, Box) or not isinstance(ours, Box):
        return theirs == ours
    return theirs.shape == ours.shape and theirs.dtype.kind == ours.dtype.kind
