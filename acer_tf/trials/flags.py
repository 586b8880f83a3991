"""Flags of training in files of experiments and searches, which may only decide how an agent learns."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from acer_tf.cli.env_kwargs import env_kwargs
from acer_tf.config import Collecting, Config, Continuous
from acer_tf.envs.saved_kwargs import check_saved_kwargs
from acer_tf.errors import InputError
from acer_tf.networks.names import ARGUMENTS
from acer_tf.suggestions import suggestion
from acer_tf.training.job import (
    CheckpointSettings,
    EnvironmentSettings,
    EvaluationSettings,
    GymnasiumSettings,
    LoggingSettings,
    MachineSettings,
    RunSettings,
)

GROUPS = (Config, Continuous, GymnasiumSettings, EvaluationSettings, Collecting)
IN_FILES = {
    *(field.name for group in GROUPS for field in dataclasses.fields(group)),
    *("num_env", "max_episode_frames", "num_workers", "threads", "network", "policy", "value_network"),
    *ARGUMENTS,
} - {"ray_address"}
"""Flags that a file may set: no paths, addresses or services, and none that could import code or overwrite a run."""
OTHERS = (RunSettings, EnvironmentSettings, CheckpointSettings, LoggingSettings, MachineSettings)
ON_THE_COMMAND_LINE = {field.name for group in OTHERS for field in dataclasses.fields(group)} - IN_FILES


def check_flags(where: str, names: Iterable[str], has_command_line: bool) -> None:
    """Checks that a file, or `where` in it, may set these flags; its command may also take flags of training.

    Raises:
        InputError: it may not set one of them, or there is no such flag.
    """
    for name in names:
        if (flag := name.replace("-", "_")) not in IN_FILES:
            raise InputError(f"{where}: {name} cannot be set in a file{_way_out(name, flag, has_command_line)}.")


def _way_out(name: str, flag: str, has_command_line: bool) -> str:
    if flag in ON_THE_COMMAND_LINE:
        return "; give it on the command line" if has_command_line else "; leave it out"
    if flag == "network_kwargs":  # as presets have it
        return "; give its entries as flags, such as num_hidden: 128"
    return suggestion(name, sorted(IN_FILES), "files set hyper-parameters")


def words(*flags: Mapping[str, Any]) -> list[str]:
    """Returns flags by name as words of a command line; if a name occurs again, the last value counts.

    A value is part of its flag's word, so that it cannot pass for a flag.

    Raises:
        InputError: `check_saved_kwargs` refuses arguments of the environment.
    """
    merged = {name.replace("-", "_"): value for some in flags for name, value in some.items()}
    if "env_kwargs" in merged:
        if not isinstance(merged["env_kwargs"], str):
            merged["env_kwargs"] = json.dumps(merged["env_kwargs"])  # null, which Python would write as None
        check_saved_kwargs(env_kwargs([merged["env_kwargs"]]))
    return [f"--{name}={value}" for name, value in merged.items()]
