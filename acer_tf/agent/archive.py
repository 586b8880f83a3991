"""The file of an agent: its contents, and reading agents from it or from other files of a run."""

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from acer_tf.agent.settings import check_policy_kwargs, from_plain, optimizer_name, to_plain
from acer_tf.agent.spaces import Spaces
from acer_tf.agent.state import WEIGHTS, AgentState
from acer_tf.envs.check import check_actions
from acer_tf.envs.same_spaces import check_same_spaces
from acer_tf.envs.wrappers.joint_actions import Joint
from acer_tf.errors import InputError
from acer_tf.networks.layers import UnexpectedWeightError, expecting
from acer_tf.storage.agent_file import Arrays, File, file_name, read_agent, with_suffix, write_agent
from acer_tf.storage.arrays import check_arrays
from acer_tf.storage.durable import reading
from acer_tf.storage.paths import user_path
from acer_tf.storage.saved_agents import SavedAgent, count, part_of_checkpoint, read_saved_agent
from acer_tf.storage.space_json import space_from_data, space_to_data
from acer_tf.system.provenance import origin


def save(target: File, agent: AgentState) -> None:
    """Writes an agent: its plain values, and its arrays in the groups model, random and normalization."""
    write_agent(target, _data(agent), agent.arrays())


def state_dict(agent: AgentState) -> dict[str, Any]:
    """Returns the part of an agent that a checkpoint holds besides the training loop's state."""
    return part_of_checkpoint(_data(agent), agent.arrays())


def _data(agent: AgentState) -> dict[str, Any]:
    return {
        "settings": to_plain(agent.settings),
        "observation_space": space_to_data(agent.spaces.observation_space),
        "action_space": space_to_data(agent.spaces.action_space),
        "optimizer": optimizer_name(agent.settings),
        "num_timesteps": agent.num_timesteps,
        "n_envs": agent.n_envs,
        "versions": origin()["versions"],
    }


def read(source: File | SavedAgent) -> SavedAgent:
    """Reads an agent unless it has been read; a file NAME.zip takes precedence over a folder NAME."""
    if isinstance(source, SavedAgent):
        return source
    if isinstance(source, str | os.PathLike):
        with reading(path := user_path(source)):
            if path.name and with_suffix(path).is_file():  # no name: the folder is "."
                return SavedAgent(file_name(source), *read_agent(source))
    return read_saved_agent(source)


def load(source: File | SavedAgent, overrides: Mapping[str, Any]) -> AgentState:
    """Reads and builds an agent, with arguments of `ACER` that replace the file's."""
    name, data, groups, _ = read(source)
    with _naming_damage(name):
        agent = _described(data, groups, overrides, name)
    params, _ = WEIGHTS
    # Version 0.2.0 had no head for joint actions if there were as many as features.
    if isinstance(joint := agent.spaces.network_actions, Joint) and f"{params}pi_head/kernel" not in groups["model"]:
        agent.spaces.network_actions = Discrete(joint.n)
    try:
        with expecting(array.shape for parameter, array in groups["model"].items() if parameter.startswith(params)):
            agent.build()
    except UnexpectedWeightError as error:
        raise InputError(f"{name} is damaged, or of another network: {error}.") from error
    has_optimizer = "optimizer" not in overrides or data.get("optimizer") == optimizer_name(agent.settings)
    agent.load_arrays(groups, name, has_optimizer=has_optimizer, has_random="seed" not in overrides)
    return agent


def versions(saved: SavedAgent) -> str:
    """Returns the versions with which an agent was saved, and the installed ones, a line each."""
    places = ((f"{saved.name}:", saved.data.get("versions", {})), ("here:", origin()["versions"]))
    with _naming_damage(saved.name):
        return "\n".join(
            " ".join([place, *(f"{name} {of}" for name, of in sorted(found.items()))]) for place, found in places
        )


def copied(agent: AgentState) -> AgentState:
    """Returns the agent that saving and loading this one would yield."""
    file = io.BytesIO()
    save(file, agent)
    file.seek(0)
    in_file = to_plain(agent.settings)
    return load(file, {name: value for name, value in agent.settings.arguments().items() if name not in in_file})


def load_weights(source: File | SavedAgent, agent: AgentState) -> None:
    """Loads a file's parameters, average policy, slots and normalization into an agent, or else changes nothing."""
    name, data, groups, _ = read(source)
    with _naming_damage(name):
        check_policy_kwargs(data["settings"], agent.settings, name)
        theirs = _spaces(data, agent.spaces.is_normalized, name)
    ours = agent.spaces.is_normalized
    if ours != ("obs_mean" in groups.get("normalization", {})):
        raise InputError(
            f"the agent in {name} was made with normalize_observations={not ours}, this one with {ours}; give both the "
            "same."
        )
    try:
        normalization = _normalization(groups, agent.spaces, name)
        stream = {"random": agent.model.state_dict()["random"]}  # stays unchanged
        agent.model.load_state_dict(_group(groups, "model", name) | stream, name)
    except InputError:
        check_same_spaces(agent.spaces, theirs, f"{name}: its")  # more helpful than differing shapes of weights
        raise
    agent.normalization.assign(normalization)


def check_spaces(data: Mapping[str, Any], agent: AgentState) -> None:
    """Checks that a checkpoint's agent has the same spaces as this one."""
    check_same_spaces(agent.spaces, _spaces(data, agent.spaces.is_normalized, "the checkpoint"), "its")


def parameters(source: File) -> tuple[Arrays, Arrays]:
    """Returns the parameters of the policy and of the average policy in a file, by name."""
    name, _, groups, _ = read(source)
    arrays = _group(groups, "model", name)
    params, averages = (
        {parameter.removeprefix(prefix): a for parameter, a in arrays.items() if parameter.startswith(prefix)}
        for prefix in WEIGHTS
    )
    return params, averages


@contextlib.contextmanager
def _naming_damage(name: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of any kind: the block reads nothing but the file's values
        raise InputError(f"{name} is damaged, or of another version of this package ({error!r}).") from error


def _described(
    data: Mapping[str, Any], groups: Mapping[str, Arrays], overrides: Mapping[str, Any], name: str
) -> AgentState:
    """Returns the agent, without networks."""
    settings = from_plain(data["settings"], overrides, name)
    if settings.normalize_observations != (was := data["settings"]["normalize_observations"]):
        raise InputError(f"normalize_observations is {was} in {name}; what was learned depends on it.")
    check_policy_kwargs(data["settings"], settings, name)
    counts = count(data, "num_timesteps", name), count(data, "n_envs", name)
    spaces = _spaces(data, settings.normalize_observations, name)
    _check_width(_group(groups, "model", name), spaces, name)
    _group(groups, "random", name)
    agent = AgentState(settings, spaces, _normalization(groups, spaces, name))
    agent.num_timesteps, agent.n_envs = counts
    return agent


def _spaces(data: Mapping[str, Any], is_normalized: bool, source: str) -> Spaces:
    observation_space, action_space = map(space_from_data, (data["observation_space"], data["action_space"]))
    try:
        check_actions(action_space)
        return Spaces(observation_space, action_space, is_normalized)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def _group(groups: Mapping[str, Arrays], group: str, source: str) -> Arrays:
    if group not in groups:
        raise InputError(f"{source} is damaged: it has no {group}.npz.")
    return groups[group]


def _check_width(model: Arrays, spaces: Spaces, source: str) -> None:
    """Checks that there are weights for all actions, before a network is built for them."""
    space = spaces.network_actions
    width = spaces.dimensions if isinstance(space, Box) else int(space.n)
    if not any(width in array.shape for name, array in model.items() if name.startswith(WEIGHTS)):
        raise InputError(f"{source} is damaged: it has no weights for the actions {spaces.action_space}.")


def _normalization(groups: Mapping[str, Arrays], spaces: Spaces, source: str) -> Arrays:
    """Returns the moments in a file, which lacks those of rewards if the agent never had an environment."""
    found = groups.get("normalization", {})
    expected: Arrays = {}
    for name, shape in (("obs", spaces.flatten.space.shape), ("return", ())):
        if f"{name}_mean" in found or (name == "obs" and spaces.is_normalized):
            expected |= {f"{name}_mean": np.zeros(shape), f"{name}_var": np.zeros(shape), f"{name}_count": np.zeros(())}
    check_arrays(source, found, expected)
    for name, array in found.items():
        if not name.endswith("_mean") and (array < 0).any():
            raise InputError(f"{source} is damaged: {name} is negative; expected numbers >= 0.")
    return found
