"""Presets: environment, network and hyper-parameters under one name, as YAML files in `acer_tf/configs`."""

import dataclasses
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from acer_tf.config import Config, Continuous
from acer_tf.errors import InputError, nearest
from acer_tf.storage.yaml_text import parse_settings, plain_number

Flags = TypeVar("Flags")

SUFFIXES = (".yml", ".yaml")
BASELINES = "baselines"
CONTINUOUS_ACTIONS = "HalfCheetah-v5"
"""The preset whose settings are a start for any continuous task: see docs/continuous.md."""

COMMAND: dict[str, tuple[type, str]] = {
    "env": (str, "an environment id"),
    "env_kwargs": (dict, "arguments of the environment by name"),
    "num_env": (int, "a whole number"),
    "normalize_observations": (bool, "True or False"),
    "normalize_rewards": (bool, "True or False"),
    "reward_scale": (float, "a number"),
    "network": (str, "the name of a network"),
    "value_network": (str, "shared or copy"),
    "network_kwargs": (dict, "arguments of the network by name"),
}
"""What a preset may set besides hyper-parameters: the kind of each value, and the kind in words."""


@dataclasses.dataclass(frozen=True)
class Preset:
    """Settings under a name; what is not in it keeps its default.

    Attributes:
        name: as it was asked for.
        command: settings of the environment and `network`, `value_network`, under the names of the commands' flags.
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
    return sorted(
        Path(file.name).stem for file in resources.files("acer_tf.configs").iterdir() if file.name.endswith(".yml")
    )


def presets_of(env_id: str) -> list[str]:
    """Returns the names of the presets of an environment, the one with its name first."""
    names = [name for name in preset_names() if load_preset(name).command.get("env") == env_id]
    return sorted(names, key=lambda name: name != env_id)


def load_preset(name: str | Path, env_id: str | None = None) -> Preset:
    """Reads a preset and checks every key and value.

    Args:
        name: one of `preset_names()`, or the path of a file of your own, ending in .yml.
        env_id: the environment it is loaded for, None for its own; for another one its `env_kwargs` are left out.

    Raises:
        InputError: there is no such preset, or a key or value in it cannot work; the message names the nearest choice.
    """
    settings = _settings(str(name))
    command = {key: settings.pop(key) for key in COMMAND if key in settings}
    for key, value in command.items():
        kind, expected = COMMAND[key]
        if not isinstance(value, int | float if kind is float else kind) or (
            isinstance(value, bool) and kind is not bool
        ):
            raise InputError(f"preset {name}: {key} is {value!r}; expected {expected}.")
    config = {key: settings.pop(key) for key in _names(Config) if key in settings}
    continuous = {key: settings.pop(key) for key in _names(Continuous) if key in settings}
    if settings:
        key = str(next(iter(settings)))
        choices = nearest(key, [*COMMAND, *_names(Config), *_names(Continuous)])
        raise InputError(f"preset {name}: {key} is not a setting; the nearest are {', '.join(choices)}.")
    try:
        Config(**config)
        Continuous(**continuous)
    except InputError as error:
        raise InputError(f"preset {name}: {error}") from error
    if env_id is not None and command.get("env", env_id) != env_id:
        command.pop("env_kwargs", None)
    return Preset(str(name), command, command.pop("network_kwargs", {}), config, continuous)


def preset_for_continuous_actions() -> Preset:
    """Returns the settings for continuous actions that were tuned on several tasks, without environment and length."""
    preset = load_preset(CONTINUOUS_ACTIONS)
    command = {key: value for key, value in preset.command.items() if key != "env"}
    config = {key: value for key, value in preset.config.items() if key != "total_timesteps"}
    return dataclasses.replace(preset, command=command, config=config)


def with_preset(flags: Flags, preset: Preset) -> Flags:
    """Returns the flags of a command with the preset's values, which are what is used where no flag is given.

    Args:
        flags: the command's defaults, a dataclass.
        preset: the values.

    Raises:
        InputError: the preset sets what the command does not have.
    """
    fields = _names(type(flags))
    values: dict[str, Any] = {**preset.command, **preset.config, **preset.continuous}
    if "policy" in fields and "network" in values:
        values["policy"] = values.pop("network")
    if foreign := [key for key in values if key not in fields]:
        raise InputError(f"preset '{preset.name}' sets {foreign[0]}, which this command lacks; use acer_tf.run.")
    return dataclasses.replace(flags, preset=preset.name, **values)  # type: ignore[type-var]


def _settings(name: str) -> dict[str, Any]:
    return {key: plain_number(value) for key, value in parse_settings(f"preset {name}", _text(name)).items()}


def preset_text(name: str) -> str:
    """Returns the file of a preset, with its comments.

    Raises:
        InputError: there is no such preset, or its file cannot be read.
    """
    return _text(name).decode(errors="replace")


def _text(name: str) -> bytes:
    if name.endswith(SUFFIXES):
        try:
            return Path(name).read_bytes()
        except OSError as error:
            raise InputError(f"preset {name} cannot be read ({error.strerror}).") from error
    names = preset_names()
    if name not in names:
        raise InputError(f"preset '{name}' does not exist; the nearest are {', '.join(nearest(name, names))}.")
    return resources.files("acer_tf.configs").joinpath(f"{name}.yml").read_bytes()


def _names(settings: type[Any]) -> Iterable[str]:
    return [field.name for field in dataclasses.fields(settings)]
