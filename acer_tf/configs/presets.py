"""Presets: environment, network and hyper-parameters under one name, as YAML files in `acer_tf/configs`."""

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from acer_tf.config import Config, Continuous, Preprocessing
from acer_tf.envs.module_ids import bare_env_id
from acer_tf.envs.saved_kwargs import check_saved_kwargs
from acer_tf.errors import InputError
from acer_tf.networks.names import ARGUMENTS
from acer_tf.schema import Count, Text, check_names, validated
from acer_tf.storage.yaml_text import load_settings, settings_names, settings_path
from acer_tf.system.command_line import program

FOLDER = Path(__file__).parent
BASELINES = "baselines"
CONTINUOUS_ACTIONS = "HalfCheetah-v5"
"""The preset whose settings are a start for any continuous task; see docs/continuous.md."""

COMMAND: Mapping[str, Any] = {
    "env": Text,
    "env_kwargs": Mapping[str, Any],
    "num_env": Count,
    **{field.name: field.type for field in dataclasses.fields(Preprocessing)},
    "network": Text,
    "value_network": Literal["shared", "copy"],
    "network_kwargs": Mapping[str, Any],
}
"""Settings of a preset besides hyper-parameters, and their types."""


@dataclasses.dataclass(frozen=True)
class Preset:
    """Settings under a name; those that it leaves out have their defaults.

    Attributes:
        name: name or path that the user gave.
        command: settings of the environment, `network` and `value_network`, under the names of the commands' flags.
        network_kwargs: arguments of the named network.
        config: fields of `Config`.
        continuous: fields of `Continuous`.
    """

    name: str
    command: Mapping[str, Any]
    network_kwargs: Mapping[str, Any]
    config: Mapping[str, Any]
    continuous: Mapping[str, Any]


def preset_names() -> list[str]:
    """Returns the names of the presets that ship with this package."""
    return settings_names(FOLDER)


def presets_of(env_id: str) -> list[str]:
    """Returns the names of the presets for an environment, first the one with its name."""
    about_it = [name for name in preset_names() if env_id in preset_text(name)]  # parsing all would take 0.1 s
    names = [name for name in about_it if load_preset(name).command.get("env") == env_id]
    return sorted(names, key=lambda name: name != env_id)


def load_preset(name: str | Path, env_id: str | None = None) -> Preset:
    """Reads a preset and checks every key and value.

    Args:
        name: one of `preset_names()`, or the path of your own file, ending in .yml.
        env_id: environment to load it for, or None for its own; for another one, its `env_kwargs` are left out.

    Raises:
        InputError: there is no such preset, or a key or value in it cannot work; the message names the nearest choice.
    """
    where = f"preset {name}"
    settings = load_settings(where, settings_path("preset", str(name), FOLDER))
    for key in settings:
        if key in ARGUMENTS:
            raise InputError(f"{where}: {key} is an argument of the network; give it under network_kwargs.")
    check_names(where, settings, [*COMMAND, *_names(Config), *_names(Continuous)])
    command = {
        key: validated(f"{where}: {key}", settings[key], kind) for key, kind in COMMAND.items() if key in settings
    }
    try:
        check_saved_kwargs(command.get("env_kwargs", {}))
        config, continuous = _fields(Config, settings), _fields(Continuous, settings)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if env_id is not None and bare_env_id(command.get("env", env_id)) != bare_env_id(env_id):
        command.pop("env_kwargs", None)
    return Preset(str(name), command, command.pop("network_kwargs", {}), config, continuous)


def chosen_preset(given: Mapping[str, Any]) -> Preset:
    """Returns the preset that the flag `preset` names, or else baselines' settings, for the environment `env`.

    Args:
        given: values of flags.

    Raises:
        InputError: see `load_preset`.
    """
    return load_preset(given.get("preset", BASELINES), given.get("env"))


def preset_for_continuous_actions() -> Preset:
    """Returns settings for continuous actions that were tuned on several tasks, without environment and length."""
    preset = load_preset(CONTINUOUS_ACTIONS)
    command = {key: value for key, value in preset.command.items() if key != "env"}
    config = {key: value for key, value in preset.config.items() if key != "total_timesteps"}
    return dataclasses.replace(preset, command=command, config=config)


def with_preset(defaults: Mapping[str, Any], preset: Preset) -> dict[str, Any]:
    """Returns the settings of a command for flags that are not given.

    Args:
        defaults: the command's own defaults, by name.
        preset: the preset that replaces them.

    Raises:
        InputError: the preset has a setting that the command lacks.
    """
    values: dict[str, Any] = {"preset": preset.name, **preset.command, **preset.config, **preset.continuous}
    if "policy" in defaults and "network" in values:
        values["policy"] = values.pop("network")
    if foreign := [name for name in values if name not in defaults]:
        command = f"{program('acer_tf.run')} --preset {shlex.quote(preset.name)}"
        raise InputError(f"preset '{preset.name}' sets {foreign[0]}, which this command lacks; train with: {command}")
    return {**defaults, **values}


def preset_text(name: str) -> str:
    """Returns the file of a preset, with its comments.

    Raises:
        InputError: there is no such preset, or its file cannot be read.
    """
    try:
        return settings_path("preset", name, FOLDER).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"preset {name} cannot be read ({error.strerror}).") from error


def _fields(kind: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that are fields of a dataclass, as validated by it."""
    given = {name: settings[name] for name in _names(kind) if name in settings}
    valid = kind(**given)
    return {name: getattr(valid, name) for name in given}


def _names(settings: type[Any]) -> Iterable[str]:
    return [field.name for field in dataclasses.fields(settings)]
