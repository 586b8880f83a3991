"""The file of an agent: what it holds of an agent, and an agent made of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box

from acer_tf.agent import state
from acer_tf.agent.settings import from_plain, to_plain
from acer_tf.agent.translation import Translation
from acer_tf.envs.check import check_actions
from acer_tf.envs.spaces import space_from_data, space_to_data
from acer_tf.errors import InputError
from acer_tf.storage.agent_file import Arrays, File, file_name, read_agent, write_agent
from acer_tf.storage.arrays import check_arrays
from acer_tf.storage.run_folder import origin

if TYPE_CHECKING:
    from acer_tf.agent.policy_holder import PolicyHolder

FIXED = ("normalize_observations",)
"""Arguments that what was learned depends on."""
DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an agent made of values that `save` did not write may raise."""


def save(target: File, agent: "PolicyHolder", num_timesteps: int, n_envs: int) -> None:
    """Writes an agent."""
    data = {
        "settings": to_plain(agent._settings),
        "observation_space": space_to_data(agent.observation_space),
        "action_space": space_to_data(agent.action_space),
        "num_timesteps": num_timesteps,
        "n_envs": n_envs,
        "versions": origin()["versions"],
    }
    write_agent(target, data, state.agent_arrays(agent.model, agent._actor, agent._rng, agent._current_statistics))


def load(source: File, agent: "PolicyHolder", overrides: Mapping[str, Any]) -> tuple[int, int]:
    """Makes an agent of a file; returns its agent steps and its number of environments.

    Args:
        source: of the file.
        agent: an object without attributes.
        overrides: arguments that take the place of the file's.

    Raises:
        InputError: the file is not that of an agent, or an override cannot work.
    """
    data, groups = read_agent(source)
    name = file_name(source)
    try:
        settings = from_plain(data["settings"], overrides, name)
        for fixed in FIXED:
            if settings[fixed] != data["settings"][fixed]:
                raise InputError(f"{fixed} is {data['settings'][fixed]} in {name}; what was learned depends on it.")
        counts = _count(data, "num_timesteps", name), _count(data, "n_envs", name)
        agent._begin(settings)
        observation_space, action_space = map(space_from_data, (data["observation_space"], data["action_space"]))
        check_actions(action_space)
        agent._translation = Translation(observation_space, action_space, settings["normalize_observations"])
        _check_width(groups["parameters"], agent._translation, name)
        statistics = _statistics(groups, agent._translation, name)
        agent.setup_model()
        agent._statistics = statistics
        state.load_agent_arrays(
            groups,
            agent.model,
            agent._actor,
            agent._rng,
            has_optimizer="optimizer" not in overrides,
            has_random="seed" not in overrides,
            source=name,
        )
        return counts
    except InputError:
        raise
    except DAMAGE as error:
        given = f", or one of {', '.join(overrides)} does not work" if overrides else ""
        raise InputError(f"{name} is damaged, or of another version of this package{given} ({error!r}).") from error


def load_weights(source: File, agent: "PolicyHolder") -> Arrays:
    """Puts parameters, average policy and optimiser of a file into an agent; returns the file's normalisation.

    Raises:
        InputError: it is not the file of an agent, or damaged, or of another network; nothing has been changed then.
    """
    _, groups = read_agent(source)
    name = file_name(source)
    try:
        weights = state.model_state(groups)
    except KeyError as error:
        raise InputError(f"{name} has no {error}.") from error
    if agent._translation.is_normalized != ("obs_mean" in groups.get("normalization", {})):
        ours = agent._translation.is_normalized
        raise InputError(
            f"the agent of {name} was made with normalize_observations={not ours}, this one with {ours}; give both the "
            "same."
        )
    statistics = _statistics(groups, agent._translation, name)
    agent.model.load_state_dict({**weights, "random": agent.model.state_dict()["random"]}, name)
    return statistics


def parameters(source: File) -> tuple[Arrays, Arrays]:
    """Returns the parameters of an agent's file, and those of its average policy.

    Raises:
        InputError: it is not the file of an agent.
    """
    _, groups = read_agent(source)
    if not {"parameters", "average"} <= groups.keys():
        raise InputError(f"{file_name(source)} has no parameters.")
    return groups["parameters"], groups["average"]


def _count(data: Mapping[str, Any], name: str, source: str) -> int:
    value = data[name]
    if not isinstance(value, int) or value < 0:
        raise InputError(f"{source} is damaged: {name} is {value!r}; expected a whole number >= 0.")
    return value


def _check_width(parameters: Arrays, translation: Translation, source: str) -> None:
    """Checks, before a network is made for them, that there are weights for as many actions."""
    space = translation.network_actions
    width = translation.dimensions if isinstance(space, Box) else int(space.n)
    if not any(width in array.shape for array in parameters.values()):
        raise InputError(f"{source} is damaged: it has no weights for the actions {translation.action_space}.")


def _statistics(groups: Mapping[str, Arrays], translation: Translation, source: str) -> Arrays:
    """Returns the normalisation of a file; of rewards there is none where the agent never had an environment."""
    found = groups.get("normalization", {})
    expected: Arrays = {}
    for name, shape in (("obs", translation.flatten.space.shape), ("return", ())):
        if f"{name}_mean" in found or (name == "obs" and translation.is_normalized):
            expected |= {f"{name}_mean": np.zeros(shape), f"{name}_var": np.zeros(shape), f"{name}_count": np.zeros(())}
    check_arrays(source, found, expected)
    for name, array in found.items():
        if not name.endswith("_mean") and (array < 0).any():
            raise InputError(f"{source} is damaged: {name} is negative; expected numbers >= 0.")
    return found
