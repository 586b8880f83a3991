"""Builds an agent from one that Stable Baselines or baselines saved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from acer_tf.agent.settings import DEFAULTS, check_arguments, settings_in_file
from acer_tf.agent.spaces import Spaces
from acer_tf.agent.state import AgentState
from acer_tf.agent.training import AgentEnv, Training, make_environment
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.importers.imported import ImportedAgent
from acer_tf.importers.normalization import read_normalization
from acer_tf.networks.layers import UnexpectedWeightError, expecting
from acer_tf.storage.agent_file import Arrays


def import_agent(
    old: ImportedAgent,
    path: str | Path,
    env: AgentEnv | None,
    statistics: str | Path | None,
    overrides: Mapping[str, Any],
) -> Training:
    """Builds the agent, and wraps its environments for training; see `ACER.import_stable_baselines`."""
    check_arguments(overrides)
    normalization = {} if statistics is None else dict(read_normalization(statistics))
    inferred = {
        "policy": old.policy,
        "policy_kwargs": old.policy_kwargs,
        "normalize_observations": "obs_mean" in normalization,
        "normalize_rewards": "return_mean" in normalization,
    }
    settings = settings_in_file({**DEFAULTS, **old.settings, **inferred}, overrides, str(path))
    if settings.normalize_observations and "obs_mean" not in normalization:
        raise InputError(
            "normalize_observations is True, but the moments of observations are unknown; give statistics."
        )
    if not settings.normalize_observations and "obs_mean" in normalization:
        raise InputError(f"normalize_observations is False, but {statistics} has moments of observations; choose one.")
    environment, make_env = (None, None) if env is None else make_environment(env, settings)
    spaces = _spaces(old, path, environment, settings.normalize_observations)
    _check_normalization(normalization, spaces, statistics or path)
    agent = AgentState(settings, spaces, normalization)
    try:
        with expecting(array.shape for array in old.params.values()):
            agent.build()
    except UnexpectedWeightError as error:
        raise InputError(f"the agent in {path} does not fit: {error}.") from error
    _load(agent, old, path)
    return Training(agent, environment, make_env)


def _spaces(old: ImportedAgent, path: str | Path, env: FrameStack | None, is_normalized: bool) -> Spaces:
    """Returns the environment's spaces, whose bounds may differ from those in training, or else the file's."""
    if env is None:
        if old.observation_space is None:
            raise InputError(f"{path} does not tell the size of the images; give the environment that they come from.")
        try:
            return Spaces(old.observation_space, old.action_space, is_normalized)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    spaces = Spaces.of(env, is_normalized)
    for name, theirs, ours in (
        ("observation", spaces.observation_space, old.observation_space),
        ("action", spaces.action_space, old.action_space),
    ):
        if ours is not None and not _has_same_form(theirs, ours):
            raise InputError(f"the environment's {name} space is {theirs}; the agent in {path} has {ours}.")
    return spaces


def _load(agent: AgentState, old: ImportedAgent, path: str | Path) -> None:
    """Loads weights, average policy and slots; a missing average policy begins as a copy of the policy."""
    if missing := sorted(agent.parameters().keys() - old.params.keys()):
        raise InputError(f"the agent in {path} does not fit: it has no {missing[0]}.")
    try:
        agent.load_parameters(old.params, old.averages)
    except InputError as error:
        raise InputError(f"the agent in {path} does not fit: {error}") from error
    current = agent.model.state_dict()
    slots = {name: array for name, array in old.slots.items() if name in current}
    agent.model.load_state_dict(current | slots, str(path))


def _check_normalization(normalization: Arrays, spaces: Spaces, source: str | Path) -> None:
    shape = spaces.flatten.space.shape
    mean = normalization.get("obs_mean", np.zeros(shape))
    if mean.shape != shape:
        raise InputError(f"the moments in {source} are of observations of shape {mean.shape}; expected {shape}.")


def _has_same_form(theirs: gymnasium.Space[Any], ours: gymnasium.Space[Any]) -> bool:
    if not isinstance(theirs, Box) or not isinstance(ours, Box):
        return theirs == ours
    return theirs.shape == ours.shape and theirs.dtype.kind == ours.dtype.kind
