"""Turns a preset into arguments of `ACER`."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acer_tf.agent.settings import CONFIG_ARGUMENTS
from acer_tf.config import Config, Preprocessing
from acer_tf.configs.presets import load_preset
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError

OF_ENVIRONMENT: Mapping[str, Any] = {"num_env": 1, "env_kwargs": None}
"""Settings only of `make_training_env`, with their defaults."""
OF_BOTH = vars(Preprocessing())
"""Settings of `make_training_env` that are also the agent's."""


def preset_arguments(name: str | Path, env: Any, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the constructor, including the environment; see `ACER.from_preset`."""
    preset = load_preset(name, env if isinstance(env, str) else None)
    command = {"network": "mlp", "value_network": None, **OF_ENVIRONMENT, **OF_BOTH, **preset.command}
    config = {**vars(Config()), **preset.config}
    policy_kwargs = {"value_network": command["value_network"], **preset.network_kwargs}
    arguments = {
        **{name: config[field] for field, name in CONFIG_ARGUMENTS.items()},
        **preset.continuous,
        **{key: command[key] for key in (*OF_ENVIRONMENT, *OF_BOTH)},
        "policy": command["network"],
        **({} if "policy" in overrides else {"policy_kwargs": policy_kwargs}),
        **overrides,
    }
    of_environment = {key: arguments.pop(key) for key in OF_ENVIRONMENT}
    env = command.get("env") if env is None else env
    if env is None:
        raise InputError(f"preset '{name}' has no environment; give one: ACER.from_preset('{name}', env).")
    if isinstance(env, str):
        of_both = {key: arguments[key] for key in OF_BOTH}
        make_env = functools.partial(make_training_env, env, gamma=arguments["gamma"], **of_environment, **of_both)
        env = make_env if arguments.get("actors") else make_env()
    return {"env": env, **arguments}
