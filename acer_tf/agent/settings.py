"""The arguments of `ACER`: what they mean to the engine, and how a file holds them."""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from acer_tf.config import Config, Continuous, require_positive
from acer_tf.errors import InputError, nearest

Settings = dict[str, Any]
"""All arguments of the constructor but the environment, by name."""

RENAMED = {"n_steps": "nsteps", "learning_rate": "lr", "lr_schedule": "lrschedule", "correction_term": "c"}
"""Names of Stable Baselines, and those of baselines."""
OF_LEARN = ("total_timesteps", "log_interval")
"""Hyper-parameters that are arguments of `ACER.learn`."""
PLAIN = (bool, int, float, str, type(None))


def config_of(settings: Settings) -> Config:
    """Returns the checked hyper-parameters.

    Raises:
        InputError: a value that cannot work, under the name that `ACER` gives it.
    """
    names = {**{field.name: field.name for field in dataclasses.fields(Config)}, **{v: k for k, v in RENAMED.items()}}
    try:
        return Config(**{name: settings[given] for name, given in names.items() if given in settings})
    except InputError as error:
        message = re.sub(r"\b(nsteps|lr|lrschedule|c)\b", lambda match: names[match[0]], str(error))
        raise InputError(message) from error


def continuous_of(settings: Settings) -> Continuous:
    """Returns the checked settings of Box actions.

    Raises:
        InputError: a value that cannot work.
    """
    return Continuous(**{field.name: settings[field.name] for field in dataclasses.fields(Continuous)})


def arguments_of(config: Config) -> dict[str, Any]:
    """Returns the arguments of `ACER` for these hyper-parameters; those of `learn` are not among them."""
    given = {name: our for our, name in RENAMED.items()}
    fields = (field.name for field in dataclasses.fields(Config) if field.name not in OF_LEARN)
    return {given.get(name, name): getattr(config, name) for name in fields}


def checked(settings: Settings) -> Settings:
    """Makes plain values of numpy's, and checks what the engine does not.

    Raises:
        InputError: a value that cannot work.
    """
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    kwargs = settings["policy_kwargs"]
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise InputError(f"policy_kwargs is {kwargs!r}; expected arguments of the policy by name, or None.")
    settings["policy_kwargs"] = {name: _named_activation(value) for name, value in (kwargs or {}).items()}
    for name in ("normalize_observations", "normalize_rewards"):
        if not isinstance(settings[name], bool):
            raise InputError(f"{name} is {settings[name]!r}; expected True or False.")
    require_positive("reward_scale", settings["reward_scale"])
    if settings["verbose"] not in (0, 1, 2):
        raise InputError(f"verbose is {settings['verbose']!r}; expected 0, 1 or 2.")
    threads = settings["n_cpu_tf_sess"]
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
        raise InputError(f"n_cpu_tf_sess is {threads!r}; expected a whole number >= 1, or None.")
    if settings["tensorboard_log"] is not None:
        settings["tensorboard_log"] = str(settings["tensorboard_log"])
    config_of(settings)
    continuous_of(settings)
    return settings


def to_plain(settings: Settings) -> dict[str, Any]:
    """Returns what a file can hold: plain values; and under `functions` the names of those that it cannot."""
    plain: dict[str, Any] = {}
    functions = []
    for name, value in settings.items():
        stored = _optimizer_to_plain(value) if isinstance(value, keras.optimizers.Optimizer) else value
        if _is_plain(stored):
            plain[name] = json.loads(json.dumps(stored))
        else:
            functions.append(name)
    return {**plain, "functions": functions}


def from_plain(plain: Mapping[str, Any], overrides: Mapping[str, Any], source: str) -> Settings:
    """Returns the settings of a file, as far as they are not overridden.

    Args:
        plain: what `to_plain` returned.
        overrides: arguments that take the place of the file's.
        source: the file's name.

    Raises:
        InputError: an argument that does not exist, or a function that is missing.
    """
    values = dict(plain)
    functions = values.pop("functions")
    known = [*values, *functions]
    for name in overrides:
        if name not in known:
            raise InputError(f"ACER takes no argument {name}; the nearest are {', '.join(nearest(name, known))}.")
    for name in functions:
        if name not in overrides:
            raise InputError(
                f"{name} of {source} is or has a function, which a file cannot hold; give it: "
                f"ACER.load(path, {name}=...)."
            )
    if isinstance(values.get("optimizer"), dict):
        values["optimizer"] = _optimizer_from_plain(values["optimizer"], values["learning_rate"])
    return {**values, **overrides}


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN)


def _named_activation(value: Any) -> Any:
    """Returns the name of an activation of TensorFlow or Keras, so that a file can hold it; anything else as it is."""
    name = getattr(value, "__name__", "")
    is_known = callable(value) and any(
        getattr(home, name, None) is value for home in (tf.nn, keras.activations, keras.ops)
    )
    return name if is_known and hasattr(keras.activations, name) else value


def _optimizer_to_plain(optimizer: keras.optimizers.Optimizer) -> Any:
    """Returns class and arguments of one of Keras' own optimisers; any other as it is."""
    name = type(optimizer).__name__
    if getattr(keras.optimizers, name, None) is not type(optimizer):
        return optimizer
    arguments = {key: value for key, value in optimizer.get_config().items() if key != "learning_rate"}
    return {"class": name, "arguments": arguments}


def _optimizer_from_plain(plain: Mapping[str, Any], learning_rate: float) -> keras.optimizers.Optimizer:
    optimizer = getattr(keras.optimizers, plain["class"])
    if not issubclass(optimizer, keras.optimizers.Optimizer):
        raise ValueError(f"{plain['class']} is no optimizer")
    if not all(isinstance(value, PLAIN) for value in plain["arguments"].values()):
        raise ValueError("an optimizer's arguments are plain values")
    return optimizer(learning_rate=learning_rate, **plain["arguments"])
