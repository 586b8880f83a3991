"""The file of an agent: what it holds of an agent, and an agent made of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from acer_tf.agent import state
from acer_tf.agent.settings import from_plain, to_plain
from acer_tf.agent.translation import Translation
from acer_tf.envs.space_data import space_from_data, space_to_data
from acer_tf.errors import InputError
from acer_tf.persistence.agent_file import Arrays, File, file_name, read_agent, write_agent
from acer_tf.persistence.run_folder import origin

if TYPE_CHECKING:
    from acer_tf.agent.policy_holder import PolicyHolder

FIXED = ("normalize_observations",)
"""Arguments that what was learned depends on."""


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
    write_agent(target, data, state.agent_arrays(agent.model, agent._acting, agent._rng, agent._current_statistics))


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
        agent._begin(settings)
        observation_space, action_space = map(space_from_data, (data["observation_space"], data["action_space"]))
        agent._translation = Translation(observation_space, action_space, settings["normalize_observations"])
        agent.setup_model()
        agent._statistics = _statistics(groups, agent._translation)
        state.load_agent_arrays(
            groups,
            agent.model,
            agent._acting,
            agent._rng,
            has_optimizer="optimizer" not in overrides,
            has_random="seed" not in overrides,
            source=name,
        )
        return int(data["num_timesteps"]), int(data["n_envs"])
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        given = f", or one of {', '.join(overrides)} does not work" if overrides else ""
        raise InputError(f"{name} is damaged, or of another version of this package{given} ({error!r}).") from error


def load_weights(source: File, agent: "PolicyHolder") -> Arrays:
    """Puts parameters, average policy and optimiser of a file into an agent; returns the file's normalisation.

    Raises:
        InputError: it is not the file of an agent, or of another network; nothing has been changed then.
    """
    _, groups = read_agent(source)
    name = file_name(source)
    try:
        weights = state.model_state(groups)
    except KeyError as error:
        raise InputError(f"{name} has no {error}.") from error
    statistics = groups.get("normalization", {})
    if agent._translation.is_normalized != ("obs_mean" in statistics):
        ours = agent._translation.is_normalized
        raise InputError(
            f"the agent of {name} was made with normalize_observations={not ours}, this one with {ours}; give both the "
            "same."
        )
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


def _statistics(groups: Mapping[str, Arrays], translation: Translation) -> Arrays:
    statistics = groups.get("normalization", {})
    if translation.is_normalized:
        for name in ("obs_mean", "obs_var"):
            np.broadcast_to(statistics[name], translation.flatten.space.shape)
    return statistics
